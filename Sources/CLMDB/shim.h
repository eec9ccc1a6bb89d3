#pragma once
#include <lmdb.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif
#endif

// Asks the processor to prefetch memory that will be read soon. Never faults.
static inline void tapedeck_prefetch(const void *start, size_t count) {
    for (size_t offset = 0; offset < count; offset += 64) {
        __builtin_prefetch((const char *)start + offset);
    }
}

// Reads the device and the inode of the file at a path or, if `path` is null, of an open file. Returns 0 or the error.
//
// On Linux, the times of the file are not read: after they have been read, the next change of the file gets an exact time,
// which makes the next commit slower by a tenth (kernel 6.13 and later, "multigrain timestamps").
static inline int tapedeck_identify(int file, const char *path, uint64_t *device, uint64_t *inode) {
#ifdef __linux__
    struct statx facts;
    if (syscall(SYS_statx, path ? AT_FDCWD : file, path ? path : "", path ? 0 : AT_EMPTY_PATH, STATX_INO, &facts) == 0) {
        *device = (uint64_t)facts.stx_dev_major << 32 | facts.stx_dev_minor;
        *inode = facts.stx_ino;
        return 0;
    }
    // The kernel or a sandbox may not know the call.
    if (errno != ENOSYS && errno != EPERM) return errno;
#endif
    struct stat all;
    if ((path ? stat(path, &all) : fstat(file, &all)) != 0) return errno;
    *device = (uint64_t)all.st_dev;
    *inode = (uint64_t)all.st_ino;
    return 0;
}
