internal import TapedeckModel
internal import TapedeckProjections

/// An attempt that failed: at what place in the canonical order, why, and when the next one is due.
struct FailedAttempt: Equatable {
    var order: FoldOrder
    /// Unix milliseconds.
    var at: Int64
    var reason: String
    /// Which failure in a row it is, from 1.
    var attempt: UInt64
    /// Unix milliseconds; nil where nothing is tried again by itself.
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

    /// Whether it is time for the next one.
    func isDue(at now: UTCTime) -> Bool { nextTryAt.map { $0 <= now.milliseconds } ?? false }
}
