internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// A TVmaze schedule: the networks of one country, or the web channels of one or all countries.
struct TVmazeSchedule: Hashable {
    /// The country's code; nil for web channels worldwide.
    let country: String?
    /// Whether the schedule lists web channels.
    let isWeb: Bool

    /// The schedules that are read by default.
    static let standard = [TVmazeSchedule(country: ScheduleScope.countryDefault, isWeb: false)]
    /// The maximum number of schedules per remote; each schedule needs seven requests.
    static let countMax = 20

    private static let web = "web"

    private init(country: String?, isWeb: Bool) {
        (self.country, self.isWeb) = (country, isWeb)
    }

    /// Parses `US`, `web` or `web-US`; case is ignored.
    init?(_ text: String) {
        let words = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let isWeb = words.first?.lowercased() == TVmazeSchedule.web
        let codes = isWeb ? words.dropFirst() : words[...]
        guard isWeb || words.count == 1 else { return nil }
        let country = codes.first?.uppercased()
        if let country, CountryZones.byCode[country] == nil { return nil }
        self.init(country: country, isWeb: isWeb)
    }

    /// Parses the schedules of a remote and removes duplicates; returns `standard` for an empty
    /// list.
    ///
    /// Throws `SyncError` with `.usage` and a hint that lists the valid forms.
    static func read(_ names: [String]) throws(SyncError) -> [TVmazeSchedule] {
        guard names.count <= countMax else {
            throw SyncError(
                .usage, "too many schedules: \(names.count)",
                hint: "a remote can have at most \(countMax)")
        }
        var schedules: [TVmazeSchedule] = []
        for name in names {
            guard let schedule = TVmazeSchedule(name) else {
                throw SyncError(
                    .usage, "\"\(name.prefix(40))\" is not a TVmaze schedule",
                    hint:
                        "use an ISO 3166 country code such as US or GB, web for the web"
                        + " channels of all countries, or web-US for the web channels of the US")
            }
            if !schedules.contains(schedule) { schedules.append(schedule) }
        }
        return schedules.isEmpty ? standard : schedules
    }

    /// The schedule's name: `US`, `web` or `web-US`.
    var name: String {
        guard isWeb else { return country ?? "" }
        return country.map { "\(TVmazeSchedule.web)-\($0)" } ?? TVmazeSchedule.web
    }

    /// The time zone that determines the schedule's days; nil for UTC.
    private var zone: String? { country.flatMap { CountryZones.byCode[$0] } }

    /// Returns the seven days of the ISO week that contains `now`, in the schedule's zone, Monday
    /// first; empty if the week extends past the last supported day.
    func week(at now: UInt64) -> [CalendarDay] {
        let monday = today(now).monday
        guard monday.adding(6) <= CalendarDay.last else { return [] }
        return (0..<7).map { monday.adding($0) }
    }

    /// Returns the next midnight in the schedule's zone, in Unix milliseconds.
    func midnight(after now: UInt64) -> UInt64 {
        var zones = ZoneCache()
        return UInt64(max(0, zones.start(of: today(now).adding(1), zone)))
    }

    private func today(_ now: UInt64) -> CalendarDay {
        var zones = ZoneCache()
        // Times after `CalendarDay.last` have no calendar day.
        let time = Int64(min(now, UInt64(CalendarDay.last.startMilliseconds)))
        return CalendarDay(
            milliseconds: time, offsetSeconds: zones.offsetSeconds(zone, milliseconds: time))
    }
}
