internal import Foundation

/// Descriptions of errors that may come from other libraries.
///
/// They never include the contents of an error. Errors of other libraries repeat invalid values,
/// which may be tokens, and a description may be stored and shown to others.
package enum ForeignError {
    /// Returns the full description of a `CodedError`, or the type and number of another error.
    package static func description(_ error: any Error) -> String {
        (error as? any CodedError)?.description ?? text(error)
    }

    /// Returns the message of a `CodedError`, or the type and number of another error.
    ///
    /// The reason given by the operating system is appended if it is known.
    package static func text(_ error: any Error) -> String {
        if let error = error as? any CodedError { return error.message }
        let system = error as NSError
        let kind = String(reflecting: type(of: error))
        return (system.domain == kind ? kind : "\(kind) \(system.domain) \(system.code)")
            + SystemReason.of(error)
    }
}
