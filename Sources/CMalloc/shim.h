#pragma once

#if defined(__GLIBC__) || __has_include(<malloc.h>)
#include <malloc.h>
#endif

// Makes malloc return freed blocks of at least this many bytes to the system. By default, glibc
// raises this threshold up to 32 MiB when large blocks are freed. Memory that a rebuild has freed
// then stays allocated between small blocks that are still in use. Other allocators do not need
// this setting.
static inline void tapedeck_return_blocks_from(int bytes) {
#if defined(M_MMAP_THRESHOLD)
    mallopt(M_MMAP_THRESHOLD, bytes);
#else
    (void)bytes;
#endif
}
