#ifndef CTESTCALLS_H
#define CTESTCALLS_H

/// Stops the calling thread before each of its calls of the system that concern files, and asks what is to become of it.
///
/// Each stop writes one byte to the file `said`: the first letter of the call's kind, or `w` where it waits for somebody
/// else. Then it reads one byte from `told`: `g` go on, `f` fail with EIO, `k` kill this process. Locks are tried
/// without blocking, so a thread that would block says `w` at each try.
///
/// A negative `said` lets calls pass again.
void test_calls_stop_at(int said, int told);

#endif
