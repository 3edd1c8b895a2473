#define _GNU_SOURCE
#include "hklog_memory.h"
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>

/* Below this a block comes from malloc: mapping a page for each small column would waste memory. */
#define MAPPED_FROM ((size_t)1 << 20)

static size_t rounded(size_t count) { return (count + 4095) & ~(size_t)4095; }

void *hklog_memory_grow(void *block, size_t old_count, size_t new_count) {
    if (new_count < MAPPED_FROM) {
        char *grown = realloc(block, new_count ? new_count : 1);
        if (grown && new_count > old_count) memset(grown + old_count, 0, new_count - old_count);
        return grown;
    }
    void *grown;
    if (old_count >= MAPPED_FROM) {
        grown = mremap(block, rounded(old_count), rounded(new_count), MREMAP_MAYMOVE);
        if (grown == MAP_FAILED) return NULL;
    } else {
        grown = mmap(NULL, rounded(new_count), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (grown == MAP_FAILED) return NULL;
        if (block) {
            memcpy(grown, block, old_count);
            free(block);
        }
    }
    madvise(grown, rounded(new_count), MADV_HUGEPAGE);
    return grown;
}

void hklog_memory_populate(uintptr_t address, size_t count) {
#ifdef MADV_POPULATE_WRITE
    /* Only whole pages within; a fault here is no fault: the pages come when they are used. */
    uintptr_t first = (address + 4095) & ~(uintptr_t)4095, end = (address + count) & ~(uintptr_t)4095;
    if (first < end) madvise((void *)first, end - first, MADV_POPULATE_WRITE);
#else
    (void)address;
    (void)count;
#endif
}

void hklog_memory_free(void *block, size_t count) {
    if (!block) return;
    if (count >= MAPPED_FROM)
        munmap(block, rounded(count));
    else
        free(block);
}
#else
void *hklog_memory_grow(void *block, size_t old_count, size_t new_count) {
    char *grown = realloc(block, new_count ? new_count : 1);
    if (grown && new_count > old_count) memset(grown + old_count, 0, new_count - old_count);
    return grown;
}

void hklog_memory_populate(uintptr_t address, size_t count) {
    (void)address;
    (void)count;
}

void hklog_memory_free(void *block, size_t count) {
    (void)count;
    free(block);
}
#endif
