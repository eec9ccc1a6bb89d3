internal import Foundation

/// What is told of an error that may not be ours.
///
/// Never what it holds: the errors of other libraries repeat the values that they could not use, and such a value may be
/// a token. What is told may be stored, and shown to others.
package enum ForeignError {
    /// All that an error of ours says; of any other its kind.
    package static func description(_ error: any Error) -> String {
        (error as? any CodedError)?.description ?? text(error)
    }

    /// The message of an error of ours; of any other its kind, and the system's reason where there is one.
    package static func text(_ error: any Error) -> String {
        if let error = error as? any CodedError { return error.message }
        let system = error as NSError
        let kind = String(reflecting: type(of: error))
        return (system.domain == kind ? kind : "\(kind) \(system.domain) \(system.code)")
            + SystemReason.of(error)
    }
}
