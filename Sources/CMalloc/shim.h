#pragma once

#if defined(__GLIBC__) || __has_include(<malloc.h>)
#include <malloc.h>
#endif

// Blocks of so many bytes and more go back to the system when they are freed. By itself glibc raises
// the limit to 32 MiB as it meets large ones, and then keeps what a rebuild has long done with between
// small blocks that live on. Other systems' allocators need not be told.
static inline void tapedeck_return_blocks_from(int bytes) {
#if defined(M_MMAP_THRESHOLD)
    mallopt(M_MMAP_THRESHOLD, bytes);
#else
    (void)bytes;
#endif
}
