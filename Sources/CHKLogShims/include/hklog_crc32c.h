// CRC32C (Castagnoli, RFC 3720 appendix B.4): hardware instructions where the processor has them, a table elsewhere.
#ifndef HKLOG_CRC32C_H
#define HKLOG_CRC32C_H
#include <stddef.h>
#include <stdint.h>

/// Continues a CRC32C over `count` bytes. Start with 0; pass the last result to go on.
uint32_t hklog_crc32c(uint32_t crc, const void *bytes, size_t count);

/// The same by table alone: the portable twin that tests compare with.
uint32_t hklog_crc32c_table(uint32_t crc, const void *bytes, size_t count);

/// Asks the processor to load the cache line at `address` for writing. Never faults.
static inline void hklog_prefetch(const void *address) { __builtin_prefetch(address, 1, 3); }
#endif
