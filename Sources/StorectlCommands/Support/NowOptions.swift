internal import ArgumentParser
internal import Tapedeck

/// The option for the current time, for queries that depend on the time.
struct NowOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The time to use as now (default: the current time).", valueName: "time"))
    var now: String?

    /// Returns the given time, or the system clock's time if none was given.
    func time() throws -> UTCTime {
        if let now {
            return UTCTime(milliseconds: try TimeArgument.milliseconds(now, "--now"))
        }
        return UTCTime(milliseconds: Int64(clamping: EventLog.Options().now()))
    }
}
