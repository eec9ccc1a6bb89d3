internal import Foundation
internal import TapedeckVideo

/// Formats times relative to now, such as `3 h ago`.
enum RelativeTime {
    /// The current time, in milliseconds since 1970.
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    /// Times that are at least this many days away are shown as dates.
    static let daysMax: Int64 = 30

    /// Formats a time from a report, relative to `now`, such as `3 h ago` or `in 2 d`.
    ///
    /// A string that is not a time is returned unchanged.
    static func text(_ text: String, from now: Int64) -> String {
        guard let time = Timestamps.milliseconds(text) else { return text }
        let distance = (time > now ? time - now : now - time) / 1_000
        let amount: String
        switch distance {
        case 0: return "now"
        case ..<60: amount = "\(distance) s"
        case ..<3_600: amount = "\(distance / 60) min"
        case ..<86_400: amount = "\(distance / 3_600) h"
        case ..<(daysMax * 86_400): amount = "\(distance / 86_400) d"
        default: return String(text.prefix(10))
        }
        return time > now ? "in \(amount)" : "\(amount) ago"
    }

    /// Returns the relative time, or the date and time in UTC, such as `2019-07-11 20:00Z`, if the
    /// time is at least a day away.
    static func moment(_ text: String, from now: Int64) -> String {
        guard let time = Timestamps.milliseconds(text) else { return text }
        guard abs(time - now) >= 86_400_000 else { return self.text(text, from: now) }
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5))Z"
    }
}
