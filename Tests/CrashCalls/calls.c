// The system calls that change files or wait for locks, as seen by this executable, liblmdb and Foundation: the
// definitions in the executable take precedence over those of the C library.

#define _GNU_SOURCE
#include "CTestCalls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static _Thread_local int said = -1;
static _Thread_local int told = -1;
// Whether the thread has just paused between two attempts to take a lock.
static _Thread_local int has_paused = 0;

void test_calls_stop_at(int to, int from) {
    said = to;
    told = from;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/// Returns whether to make the call; otherwise it must fail.
static int ask(char kind) {
    if (said < 0) return 1;
    int to = said, from = told;
    char answer = 'k';
    // The calls made here are not intercepted.
    said = -1;
    if (write(to, &kind, 1) != 1 || read(from, &answer, 1) != 1) answer = 'k';
    said = to;
    if (answer == 'k') kill(getpid(), SIGKILL);
    if (answer == 'f') errno = EIO;
    return answer != 'f';
}

static int fails(void) { return -1; }

int rename(const char *from, const char *to) {
    REAL(rename);
    return ask('r') ? real(from, to) : fails();
}

int unlink(const char *path) {
    REAL(unlink);
    return ask('u') ? real(path) : fails();
}

int unlinkat(int folder, const char *path, int flags) {
    REAL(unlinkat);
    return ask('u') ? real(folder, path, flags) : fails();
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return ask('m') ? real(path, mode) : fails();
}

int rmdir(const char *path) {
    REAL(rmdir);
    return ask('d') ? real(path) : fails();
}

int fsync(int file) {
    REAL(fsync);
    return ask('s') ? real(file) : fails();
}

int fdatasync(int file) {
    REAL(fdatasync);
    return ask('s') ? real(file) : fails();
}

int ftruncate(int file, off_t size) {
    REAL(ftruncate);
    return ask('t') ? real(file, size) : fails();
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
    REAL(pwrite);
    return ask('p') ? real(file, bytes, count, at) : fails();
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    REAL(writev);
    return ask('p') ? real(file, parts, count) : fails();
}

int open(const char *path, int flags, ...) {
    REAL(open);
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    // Only calls that may create a file: the others change nothing.
    if ((flags & O_CREAT) && !ask('o')) return fails();
    return real(path, flags, mode);
}

int flock(int file, int operation) {
    REAL(flock);
    int tries_again = has_paused;
    has_paused = 0;
    if (!tries_again && !ask('l')) return fails();
    if (said < 0 || (operation & LOCK_UN)) return real(file, operation);
    while (real(file, operation | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK || (operation & LOCK_NB)) return -1;
        if (!ask('w')) return -1;
    }
    return 0;
}

int usleep(useconds_t microseconds) {
    REAL(usleep);
    if (said < 0) return real(microseconds);
    ask('w');
    has_paused = 1;
    return 0;
}

int fcntl(int file, int command, ...) {
    REAL(fcntl);
    va_list rest;
    va_start(rest, command);
    void *value = va_arg(rest, void *);
    va_end(rest);
    if (said < 0 || (command != F_SETLK && command != F_SETLKW)) return real(file, command, value);
    if (!ask('l')) return fails();
    while (real(file, F_SETLK, value) != 0) {
        if ((errno != EAGAIN && errno != EACCES) || command == F_SETLK) return -1;
        if (!ask('w')) return -1;
    }
    return 0;
}

// A mutex shared by processes is a lock of LMDB; all others belong to this process alone. The bit is glibc's
// (PTHREAD_MUTEX_PSHARED_BIT, nptl/pthreadP.h).
#define SHARED_BY_PROCESSES 128

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    REAL(pthread_mutex_lock);
    if (said < 0 || !(mutex->__data.__kind & SHARED_BY_PROCESSES)) return real(mutex);
    if (!ask('l')) return EIO;
    int code;
    while ((code = pthread_mutex_trylock(mutex)) == EBUSY) {
        if (!ask('w')) return EIO;
    }
    return code;
}
