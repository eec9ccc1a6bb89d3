internal import Foundation
internal import Synchronization

/// Remembers that the user or the system asked the program to end.
///
/// For what has something to clean up, or ends well when it is interrupted; everything else is ended
/// by the signal itself, which a store always survives.
enum Interruption {
    // Set by a signal's handler: nothing but a lock-free store may happen there.
    private static let signal = Atomic<Int32>(0)

    /// From now on SIGINT, SIGTERM and SIGHUP are remembered instead of ending the program.
    static func remember() {
        signal.store(0, ordering: .relaxed)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            var action = sigaction()
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

    /// Whether one came.
    static var isRequested: Bool { signal.load(ordering: .relaxed) != 0 }

    /// Ends the program by the signal that came, so that whoever started it sees what ended it.
    static func resend() {
        let number = signal.load(ordering: .relaxed)
        guard number != 0 else { return }
        Foundation.signal(number, SIG_DFL)
        raise(number)
    }
}
