package import TapedeckModel

/// Decides which events are refused, and with which code; nil accepts.
///
/// A refused event keeps its bytes and its position, since later events follow its origin's
/// sequence, but it has no effect. The policy is called once per event and its decision is stored.
package typealias RefusalPolicy = @Sendable (CanonicalView) -> ErrorCode?

/// The built-in policies.
package enum RefusalPolicies {
    /// Returns a policy that refuses events with more canonical bytes than `bytesMax`; nil refuses
    /// none.
    package static func tooLarge(beyond bytesMax: Int?) -> RefusalPolicy {
        guard let bytesMax else { return { _ in nil } }
        return { $0.bytes.count > bytesMax ? .tooLarge : nil }
    }
}
