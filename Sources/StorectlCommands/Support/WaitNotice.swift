internal import Foundation
internal import Synchronization
internal import Tapedeck

/// Announces on standard error, once per wait, that a sync is waiting long enough for a user to
/// notice.
final class WaitNotice: Sendable {
    /// The end of the last announced wait, in milliseconds since 1970.
    private let announced = Mutex(UInt64(0))

    /// The shortest wait that is announced.
    private static let noticedMilliseconds: UInt64 = 2_000

    /// Announces a wait that ends at `until`, in milliseconds since 1970.
    func announce(_ reason: ErrorCode, _ message: String, until: UInt64) {
        let now = UInt64(max(0, Date().timeIntervalSince1970 * 1_000))
        guard until > now, until - now >= WaitNotice.noticedMilliseconds else { return }
        let isNew = announced.withLock { last in
            defer { last = until }
            return last != until
        }
        guard isNew else { return }
        StandardOutput.diagnose("waiting \((until - now + 999) / 1_000) s: \(reason): \(message)")
    }
}
