internal import ArgumentParser
internal import Tapedeck

/// Which channels and shows a schedule lists.
struct ScheduleOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The channels' country by ISO 3166 (default: US; with --web any).", valueName: "code"))
    var country: String?

    @Flag(help: "Web channels only.")
    var web = false

    @Flag(help: "The country's web channels too.")
    var includeWeb = false

    @Option(
        help: ArgumentHelp(
            "Only where the name of the show or of the channel holds this, whatever its case and accents.",
            valueName: "text"))
    var filter: String?

    /// The scope that they mean.
    func scope() throws -> ScheduleScope {
        try ScheduleScope(country: country, web: web, includeWeb: includeWeb, filter: filter)
    }
}

extension ScheduleOptions {
    /// `S01E02`, or `S01` for a special.
    static func number(season: Int64?, number: Int64?) -> String {
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return (season.map { "S\(two($0))" } ?? "") + (number.map { "E\(two($0))" } ?? "")
    }
}

extension VideoProjections {
    /// What the queries about schedules read.
    var ofSchedules: [any Projection] { [schedule, shows, listings] }
}
