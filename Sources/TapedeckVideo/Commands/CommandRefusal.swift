public import Foundation

/// Why a command is not to be done: what the state of things does not allow.
///
/// Each command has a type of its own, so that an app can tell the cases apart; `localizedDescription` says each
/// as a sentence for people.
public protocol CommandRefusal: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// What does not allow it, as a sentence.
    var message: String { get }
}

extension CommandRefusal {
    /// The message.
    public var errorDescription: String? { message }
    /// The message.
    public var description: String { message }
}
