internal import Foundation

/// Descriptions of errors that may come from other libraries.
///
/// The descriptions never include the contents of an error from another library. Errors from other
/// libraries may repeat invalid values, such as tokens, and a description may be stored and shown
/// to other people.
package enum ForeignError {
    /// Returns the full description of a `CodedError`, or the type and number of any other error.
    package static func description(_ error: any Error) -> String {
        (error as? any CodedError)?.description ?? text(error)
    }

    /// Returns the message of a `CodedError`, or the type and number of any other error.
    ///
    /// If the operating system's reason is known, it is appended.
    package static func text(_ error: any Error) -> String {
        if let error = error as? any CodedError { return error.message }
        let system = error as NSError
        let kind = String(reflecting: type(of: error))
        return (system.domain == kind ? kind : "\(kind) \(system.domain) \(system.code)")
            + SystemReason.of(error)
    }
}
