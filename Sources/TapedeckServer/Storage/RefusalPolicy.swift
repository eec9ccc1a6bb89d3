package import TapedeckModel

/// A function that returns the code with which to refuse an event, or nil to accept the event.
///
/// A refused event has no effect, but it keeps its bytes and its position, because later events
/// continue its origin's sequence. The policy is called once per event, and its decision is stored.
package typealias RefusalPolicy = @Sendable (CanonicalView) -> ErrorCode?

/// The built-in policies.
package enum RefusalPolicies {
    /// Returns a policy that refuses events with more canonical bytes than `bytesMax`; if
    /// `bytesMax` is nil, the policy refuses no events.
    package static func tooLarge(beyond bytesMax: Int?) -> RefusalPolicy {
        guard let bytesMax else { return { _ in nil } }
        return { $0.bytes.count > bytesMax ? .tooLarge : nil }
    }
}
