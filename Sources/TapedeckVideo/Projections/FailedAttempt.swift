internal import TapedeckModel
internal import TapedeckProjections

/// A failed attempt, with its reason and the time at which the next attempt is due.
struct FailedAttempt: Equatable {
    var order: FoldOrder
    /// The time in Unix milliseconds.
    var at: Int64
    var reason: String
    /// The number of consecutive failures, including this one.
    var attempt: UInt64
    /// The time at which the next attempt is due, in Unix milliseconds; nil if there is no
    /// automatic retry.
    var nextTryAt: Int64?

    init(
        _ event: borrowing FoldEvent, reason: String, attempt: UInt32, retryAfterSeconds: Double?
    ) {
        order = event.order
        at = Int64(event.stamp.milliseconds)
        self.reason = reason
        self.attempt = UInt64(max(1, attempt))
        nextTryAt = retryAfterSeconds.map { at + Int64($0 * 1_000) }
    }

    init(reading bytes: inout StateReader) throws(ModelError) {
        order = try bytes.foldOrder()
        at = try bytes.int64()
        reason = try bytes.string()
        attempt = try bytes.uint64()
        nextTryAt = try bytes.optionalInt64()
    }

    func encode(into bytes: inout StateWriter) {
        bytes.add(order)
        bytes.add(at)
        bytes.add(reason)
        bytes.add(attempt)
        bytes.add(nextTryAt)
    }

    /// Returns whether the next attempt is due.
    func isDue(at now: UTCTime) -> Bool { nextTryAt.map { $0 <= now.milliseconds } ?? false }
}
