// Counts the syncs that a program requests, to check that every line in the table is durable.
//
// Preload it with SYNC_COUNT_FILE set to the path of a file of 8 bytes. The counter is in that file, not in memory,
// because a server that is stopped by a signal runs no destructors.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic uint64_t *counter;

__attribute__((constructor)) static void map_counter(void) {
    const char *path = getenv("SYNC_COUNT_FILE");
    int file = path ? open(path, O_RDWR) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED) counter = page;
}

static int count_and_call(const char *name, int file) {
    if (counter) atomic_fetch_add(counter, 1);
    int (*next)(int);
    *(void **)&next = dlsym(RTLD_NEXT, name);
    return next(file);
}

int fsync(int file) { return count_and_call("fsync", file); }
int fdatasync(int file) { return count_and_call("fdatasync", file); }
