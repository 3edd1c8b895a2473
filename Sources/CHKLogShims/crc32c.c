#include "hklog_crc32c.h"
#include <stdbool.h>
#include <string.h>

#define POLYNOMIAL 0x82F63B78u /* Castagnoli, bits reversed */

static uint32_t tables[8][256];

/* An instruction takes three cycles and one may begin in each, so three blocks are checked side by side. A CRC is
   linear: that of A and B one after the other is that of A moved over as many zero bytes as B has (four look-ups), xor
   that of B. */
#define BLOCK ((size_t)512)
static uint32_t block_tables[4][256];

static void make_block_tables(void) {
    uint32_t of_bit[32];
    for (int bit = 0; bit < 32; bit++) {
        uint32_t crc = (uint32_t)1 << bit;
        for (size_t i = 0; i < BLOCK; i++) crc = (crc >> 8) ^ tables[0][crc & 0xff];
        of_bit[bit] = crc;
    }
    for (int k = 0; k < 4; k++)
        for (uint32_t i = 1; i < 256; i++) {
            uint32_t low = i & (0 - i);
            block_tables[k][i] = block_tables[k][i ^ low] ^ of_bit[8 * k + __builtin_ctz(low)];
        }
}

static inline uint32_t over_block(uint32_t crc) {
    return block_tables[0][crc & 0xff] ^ block_tables[1][(crc >> 8) & 0xff] ^
           block_tables[2][(crc >> 16) & 0xff] ^ block_tables[3][crc >> 24];
}

__attribute__((constructor)) static void make_tables(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) ? POLYNOMIAL : 0);
        tables[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
    make_block_tables();
}

uint32_t hklog_crc32c_table(uint32_t crc, const void *bytes, size_t count) {
    const uint8_t *p = bytes;
    crc = ~crc;
    while (count >= 8) {
        uint32_t low, high;
        memcpy(&low, p, 4);
        memcpy(&high, p + 4, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        low = __builtin_bswap32(low);
        high = __builtin_bswap32(high);
#endif
        low ^= crc;
        crc = tables[7][low & 0xff] ^ tables[6][(low >> 8) & 0xff] ^ tables[5][(low >> 16) & 0xff] ^
              tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][(high >> 8) & 0xff] ^
              tables[1][(high >> 16) & 0xff] ^ tables[0][high >> 24];
        p += 8;
        count -= 8;
    }
    while (count--) crc = (crc >> 8) ^ tables[0][(crc ^ *p++) & 0xff];
    return ~crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t crc32c_hardware(uint32_t crc, const void *bytes,
                                                                   size_t count) {
    const uint8_t *p = bytes;
    uint64_t c = (uint32_t)~crc;
    while (count >= 3 * BLOCK) {
        uint64_t second = 0, third = 0;
        for (size_t i = 0; i < BLOCK; i += 8) {
            uint64_t words[3];
            memcpy(&words[0], p + i, 8);
            memcpy(&words[1], p + BLOCK + i, 8);
            memcpy(&words[2], p + 2 * BLOCK + i, 8);
            c = _mm_crc32_u64(c, words[0]);
            second = _mm_crc32_u64(second, words[1]);
            third = _mm_crc32_u64(third, words[2]);
        }
        c = over_block(over_block((uint32_t)c) ^ (uint32_t)second) ^ (uint32_t)third;
        p += 3 * BLOCK;
        count -= 3 * BLOCK;
    }
    while (count >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        c = _mm_crc32_u64(c, word);
        p += 8;
        count -= 8;
    }
    uint32_t c32 = (uint32_t)c;
    while (count--) c32 = _mm_crc32_u8(c32, *p++);
    return ~c32;
}

static bool has_hardware(void) { return __builtin_cpu_supports("sse4.2"); }
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>

static uint32_t crc32c_hardware(uint32_t crc, const void *bytes, size_t count) {
    const uint8_t *p = bytes;
    crc = ~crc;
    while (count >= 3 * BLOCK) {
        uint32_t second = 0, third = 0;
        for (size_t i = 0; i < BLOCK; i += 8) {
            uint64_t words[3];
            memcpy(&words[0], p + i, 8);
            memcpy(&words[1], p + BLOCK + i, 8);
            memcpy(&words[2], p + 2 * BLOCK + i, 8);
            crc = __crc32cd(crc, words[0]);
            second = __crc32cd(second, words[1]);
            third = __crc32cd(third, words[2]);
        }
        crc = over_block(over_block(crc) ^ second) ^ third;
        p += 3 * BLOCK;
        count -= 3 * BLOCK;
    }
    while (count >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        crc = __crc32cd(crc, word);
        p += 8;
        count -= 8;
    }
    while (count--) crc = __crc32cb(crc, *p++);
    return ~crc;
}

static bool has_hardware(void) { return true; }
#else
static uint32_t crc32c_hardware(uint32_t crc, const void *bytes, size_t count) {
    return hklog_crc32c_table(crc, bytes, count);
}

static bool has_hardware(void) { return false; }
#endif

uint32_t hklog_crc32c(uint32_t crc, const void *bytes, size_t count) {
    return has_hardware() ? crc32c_hardware(crc, bytes, count) : hklog_crc32c_table(crc, bytes, count);
}
