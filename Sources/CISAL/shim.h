#pragma once
#include <isa-l/crc.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Computes the CRC-32C of three buffers in parallel. ISA-L has a setup cost per buffer, which
// dominates for a few hundred bytes. The processor's instruction has a latency of three cycles and
// a throughput of one per cycle, so three checksums cost as much as one.
struct tapedeck_three_checksums {
    uint32_t first, second, third;
};

// Asks the processor to prefetch memory that will be read soon. Never faults.
static inline void tapedeck_fetch(const void *start, size_t count) {
    for (size_t offset = 0; offset < count; offset += 64) {
        __builtin_prefetch((const char *)start + offset);
    }
}

#if defined(__x86_64__)

static inline int tapedeck_crc32c_has_three(void) { return __builtin_cpu_supports("sse4.2") != 0; }

__attribute__((target("sse4.2"))) static inline uint32_t tapedeck_crc32c_rest(
    uint64_t crc, const uint8_t *start, size_t count) {
    for (; count >= 8; count -= 8, start += 8) {
        uint64_t word;
        memcpy(&word, start, 8);
        crc = __builtin_ia32_crc32di(crc, word);
    }
    uint32_t low = (uint32_t)crc;
    if (count & 4) {
        uint32_t word;
        memcpy(&word, start, 4);
        low = __builtin_ia32_crc32si(low, word);
        start += 4;
    }
    if (count & 2) {
        uint16_t word;
        memcpy(&word, start, 2);
        low = __builtin_ia32_crc32hi(low, word);
        start += 2;
    }
    if (count & 1) low = __builtin_ia32_crc32qi(low, *start);
    return low;
}

// Along the way, prefetches the memory `ahead` bytes after each 64-byte block. A prefetch never
// faults, even if the address is invalid.
__attribute__((target("sse4.2"))) static inline struct tapedeck_three_checksums
tapedeck_crc32c_of_three(
    const uint8_t *a, size_t a_count, const uint8_t *b, size_t b_count, const uint8_t *c,
    size_t c_count, size_t ahead) {
    uint64_t x = 0xFFFFFFFF, y = x, z = x;
    size_t common = a_count < b_count ? a_count : b_count;
    common = (c_count < common ? c_count : common) & ~(size_t)7;
    for (size_t at = 0; at < common; at += 8) {
        uint64_t u, v, w;
        if (at % 64 == 0) {
            __builtin_prefetch(a + at + ahead);
            __builtin_prefetch(b + at + ahead);
            __builtin_prefetch(c + at + ahead);
        }
        memcpy(&u, a + at, 8);
        memcpy(&v, b + at, 8);
        memcpy(&w, c + at, 8);
        x = __builtin_ia32_crc32di(x, u);
        y = __builtin_ia32_crc32di(y, v);
        z = __builtin_ia32_crc32di(z, w);
    }
    struct tapedeck_three_checksums found = {
        ~tapedeck_crc32c_rest(x, a + common, a_count - common),
        ~tapedeck_crc32c_rest(y, b + common, b_count - common),
        ~tapedeck_crc32c_rest(z, c + common, c_count - common),
    };
    return found;
}

#else

static inline int tapedeck_crc32c_has_three(void) { return 0; }

static inline struct tapedeck_three_checksums tapedeck_crc32c_of_three(
    const uint8_t *a, size_t a_count, const uint8_t *b, size_t b_count, const uint8_t *c,
    size_t c_count, size_t ahead) {
    (void)ahead;
    struct tapedeck_three_checksums found = {
        ~crc32_iscsi((unsigned char *)a, (int)a_count, 0xFFFFFFFF),
        ~crc32_iscsi((unsigned char *)b, (int)b_count, 0xFFFFFFFF),
        ~crc32_iscsi((unsigned char *)c, (int)c_count, 0xFFFFFFFF),
    };
    return found;
}

#endif
