// Growable zero-filled memory for columns of many megabytes: grows without copying where the system can remap
// pages, and asks for huge pages, which halve the cost of a replay.
#ifndef HKLOG_MEMORY_H
#define HKLOG_MEMORY_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// Whether `count` bytes are the same.
static inline int hklog_bytes_equal(const void *left, const void *right, size_t count) {
    return memcmp(left, right, count) == 0;
}

/// Grows (or makes, from NULL and 0) a block to `new_count` bytes; the added bytes are zero. NULL when there is
/// no memory; the old block is then untouched.
void *hklog_memory_grow(void *block, size_t old_count, size_t new_count);

/// Asks for the pages of `count` bytes at `address` before they are used. Changes no byte, and does nothing where the
/// system has no such call or the range is not mapped: it may run beside whoever uses, grows or frees the memory.
void hklog_memory_populate(uintptr_t address, size_t count);

/// Gives a block of `count` bytes back.
void hklog_memory_free(void *block, size_t count);
#endif
