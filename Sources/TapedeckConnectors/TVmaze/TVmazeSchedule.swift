internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// One of TVmaze's schedules: of the networks of a country, or of web channels, of a country or of all.
struct TVmazeSchedule: Hashable {
    /// The country's code; nil for the web channels of the whole world.
    let country: String?
    /// Whether it is of web channels.
    let isWeb: Bool

    /// What is read where nothing else is said.
    static let standard = [TVmazeSchedule(country: ScheduleScope.countryDefault, isWeb: false)]
    /// The most schedules of a remote; each is seven requests.
    static let countMax = 20

    private static let web = "web"

    private init(country: String?, isWeb: Bool) {
        (self.country, self.isWeb) = (country, isWeb)
    }

    /// Reads `US`, `web` or `web-US`, in whatever case.
    init?(_ text: String) {
        let words = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let isWeb = words.first?.lowercased() == TVmazeSchedule.web
        let codes = isWeb ? words.dropFirst() : words[...]
        guard isWeb || words.count == 1 else { return nil }
        let country = codes.first?.uppercased()
        if let country, CountryZones.byCode[country] == nil { return nil }
        self.init(country: country, isWeb: isWeb)
    }

    /// Reads those of a remote, each once; none are `standard`.
    ///
    /// Throws `SyncError` with `.usage`, which tells what there is.
    static func read(_ names: [String]) throws(SyncError) -> [TVmazeSchedule] {
        guard names.count <= countMax else {
            throw SyncError(
                .usage, "these are \(names.count) schedules",
                hint: "a remote reads \(countMax) at the most")
        }
        var schedules: [TVmazeSchedule] = []
        for name in names {
            guard let schedule = TVmazeSchedule(name) else {
                throw SyncError(
                    .usage, "\"\(name.prefix(40))\" is no schedule of TVmaze",
                    hint:
                        "there are a country's code by ISO 3166 such as US or GB, web for the web"
                        + " channels of all countries, and web-US for those of one")
            }
            if !schedules.contains(schedule) { schedules.append(schedule) }
        }
        return schedules.isEmpty ? standard : schedules
    }

    /// `US`, `web` or `web-US`.
    var name: String {
        guard isWeb else { return country ?? "" }
        return country.map { "\(TVmazeSchedule.web)-\($0)" } ?? TVmazeSchedule.web
    }

    /// The zone of its days; nil for UTC.
    private var zone: String? { country.flatMap { CountryZones.byCode[$0] } }

    /// The seven days of the ISO week that a time is in, in the schedule's zone, Monday first; none where they
    /// have no names.
    func week(at now: UInt64) -> [CalendarDay] {
        let monday = today(now).monday
        guard monday.adding(6) <= CalendarDay.last else { return [] }
        return (0..<7).map { monday.adding($0) }
    }

    /// The next midnight in the schedule's zone, in Unix milliseconds.
    func midnight(after now: UInt64) -> UInt64 {
        var zones = ZoneCache()
        return UInt64(max(0, zones.start(of: today(now).adding(1), zone)))
    }

    private func today(_ now: UInt64) -> CalendarDay {
        var zones = ZoneCache()
        // Beyond that no day has a name.
        let time = Int64(min(now, UInt64(CalendarDay.last.startMilliseconds)))
        return CalendarDay(
            milliseconds: time, offsetSeconds: zones.offsetSeconds(zone, milliseconds: time))
    }
}
