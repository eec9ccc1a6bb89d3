package import TapedeckModel

/// Says which events are refused, and with which code; nil accepts.
///
/// A refused event keeps its bytes and its position, since others follow its origin's sequence; it
/// counts nowhere. The policy is asked once per event, the answer is stored.
package typealias RefusalPolicy = @Sendable (CanonicalView) -> ErrorCode?

/// The policies that there are.
package enum RefusalPolicies {
    /// Refuses events whose canonical bytes are more than so many; nil refuses none.
    package static func tooLarge(beyond bytesMax: Int?) -> RefusalPolicy {
        guard let bytesMax else { return { _ in nil } }
        return { $0.bytes.count > bytesMax ? .tooLarge : nil }
    }
}
