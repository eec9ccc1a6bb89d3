#ifndef CTESTCALLS_H
#define CTESTCALLS_H

/// Stops the calling thread before each of its system calls that concern files, and asks what to do.
///
/// Each stop writes one byte to the file `said`: a letter for the kind of call, or `w` if the thread waits for another
/// process. Then it reads one byte from `told`: `g` makes the call, `f` makes it fail with EIO, `k` kills this process.
/// Locks are tried without blocking, so a thread that would block writes `w` at each attempt.
///
/// A negative `said` lets all calls pass again.
void test_calls_stop_at(int said, int told);

#endif
