internal import Foundation
internal import Synchronization

/// A command that a signal has stopped, and what it has done until then.
struct Interrupted: Error {
    let message: String
}

/// Remembers that the user or the system asked the program to end.
///
/// For what has something to clean up, or ends well when it is interrupted; everything else is
/// ended by the signal itself, which a store always survives.
enum Interruption {
    // Set by a signal's handler: nothing but a lock-free store may happen there.
    private static let signal = Atomic<Int32>(0)

    /// Lets signals in that whoever started the program has blocked for itself.
    static func unblock() {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, number) }
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    /// From now on the first SIGINT, SIGTERM or SIGHUP is remembered instead of ending the program;
    /// a second one ends it.
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

    /// From now on a signal ends the program again.
    static func forget() {
        for number in [SIGINT, SIGTERM, SIGHUP] { Foundation.signal(number, SIG_DFL) }
    }

    /// Whether one came.
    static var isRequested: Bool { number != 0 }

    /// Which one came, or 0.
    static var number: Int32 { signal.load(ordering: .relaxed) }

    /// Ends the program by the signal that came, so that whoever started it sees what ended it.
    static func resend() {
        let number = number
        guard number != 0 else { return }
        Foundation.signal(number, SIG_DFL)
        // To the process and not to this thread, which may have blocked it.
        kill(getpid(), number)
        usleep(1_000_000)
    }
}
