internal import Foundation
internal import Synchronization

/// Thrown by a command that a signal stopped; the message describes the work already done.
struct Interrupted: Error {
    let message: String
}

/// Remembers a signal that asks the program to end.
///
/// Only commands that clean up or print a report when they are interrupted use this type. Any other
/// command is simply ended by the signal, which never harms a store.
enum Interruption {
    // Set by a signal handler, in which only a lock-free write is safe.
    private static let signal = Atomic<Int32>(0)

    /// Unblocks the signals that the parent process may have blocked.
    static func unblock() {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, number) }
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    /// Remembers the next SIGINT, SIGTERM or SIGHUP; a second signal of the same kind ends the
    /// program.
    static func remember() {
        signal.store(0, ordering: .relaxed)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            var action = sigaction()
            action.sa_flags = CInt(bitPattern: UInt32(SA_RESETHAND))
            #if canImport(Darwin)
                action.__sigaction_u.__sa_handler = {
                    Interruption.signal.store($0, ordering: .relaxed)
                }
            #else
                action.__sigaction_handler.sa_handler = {
                    Interruption.signal.store($0, ordering: .relaxed)
                }
            #endif
            sigaction(number, &action, nil)
        }
    }

    /// Lets signals end the program again.
    static func forget() {
        for number in [SIGINT, SIGTERM, SIGHUP] { Foundation.signal(number, SIG_DFL) }
    }

    /// Whether a signal was received.
    static var isRequested: Bool { number != 0 }

    /// The number of the received signal; 0 if there is none.
    static var number: Int32 { signal.load(ordering: .relaxed) }

    /// Ends the program with the received signal, so that the parent process sees the cause.
    static func resend() {
        let number = number
        guard number != 0 else { return }
        Foundation.signal(number, SIG_DFL)
        // The signal is sent to the process, because this thread may have blocked it.
        kill(getpid(), number)
        usleep(1_000_000)
    }
}
