internal import Foundation

/// A cache of time zones by name.
package struct ZoneCache {
    private var zones: [String: TimeZone] = [:]

    package init() {}

    /// Returns the offset, in seconds, of a time zone from UTC at a given time; 0 if the time zone
    /// is nil or unknown.
    package mutating func offsetSeconds(_ zone: String?, milliseconds: Int64) -> Int {
        guard let zone else { return 0 }
        let known = zones[zone] ?? TimeZone(identifier: zone) ?? .gmt
        zones[zone] = known
        return known.secondsFromGMT(
            for: Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
    }

    /// Returns the start of a day in a time zone, in milliseconds since 1970.
    ///
    /// If the clocks skip midnight, the day starts at the first moment after the skipped period.
    package mutating func start(of day: CalendarDay, _ zone: String?) -> Int64 {
        // The search works in minutes, because offsets are whole minutes.
        var before = day.startMilliseconds / 60_000 - 15 * 60
        var reached = day.startMilliseconds / 60_000 + 13 * 60
        while reached - before > 1 {
            let middle = (before + reached) / 2
            let offset = offsetSeconds(zone, milliseconds: middle * 60_000)
            if CalendarDay(milliseconds: middle * 60_000, offsetSeconds: offset) < day {
                before = middle
            } else {
                reached = middle
            }
        }
        return reached * 60_000
    }
}
