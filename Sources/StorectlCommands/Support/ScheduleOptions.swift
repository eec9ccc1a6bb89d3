internal import ArgumentParser
internal import Tapedeck

/// The options that select a schedule's channels and shows.
struct ScheduleOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The channels' country, an ISO 3166 code (default: US; with --web, any country).",
            valueName: "code"))
    var country: String?

    @Flag(help: "List web channels only.")
    var web = false

    @Flag(help: "Include the country's web channels.")
    var includeWeb = false

    @Option(
        help: ArgumentHelp(
            "List only shows or channels whose name contains this text, ignoring case and accents.",
            valueName: "text"))
    var filter: String?

    /// Returns the scope that the options select.
    func scope() throws -> ScheduleScope {
        try ScheduleScope(country: country, web: web, includeWeb: includeWeb, filter: filter)
    }
}

extension ScheduleOptions {
    /// Returns an episode's number, such as `S01E02`, or `S01` for a special.
    static func number(season: Int64?, number: Int64?) -> String {
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return (season.map { "S\(two($0))" } ?? "") + (number.map { "E\(two($0))" } ?? "")
    }
}

extension VideoProjections {
    /// The projections that schedule queries read.
    var ofSchedules: [any Projection] { [schedule, shows, listings] }
}
