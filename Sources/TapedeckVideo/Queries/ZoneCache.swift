internal import Foundation

/// The zones that a query met, by their names.
package struct ZoneCache {
    private var zones: [String: TimeZone] = [:]

    package init() {}

    /// How far a zone is east of Greenwich at a time; 0 for nil and for a zone that nobody knows.
    package mutating func offsetSeconds(_ zone: String?, milliseconds: Int64) -> Int {
        guard let zone else { return 0 }
        let known = zones[zone] ?? TimeZone(identifier: zone) ?? .gmt
        zones[zone] = known
        return known.secondsFromGMT(
            for: Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
    }

    /// When a day begins in a zone, in Unix milliseconds: where clocks leave midnight out, at the first
    /// moment behind it.
    package mutating func start(of day: CalendarDay, _ zone: String?) -> Int64 {
        // In minutes, as zones are.
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
