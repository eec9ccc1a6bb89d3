#pragma once
#include <lmdb.h>
#include <stddef.h>

// Asks the processor to prefetch memory that will be read soon. Never faults.
static inline void tapedeck_prefetch(const void *start, size_t count) {
    for (size_t offset = 0; offset < count; offset += 64) {
        __builtin_prefetch((const char *)start + offset);
    }
}
