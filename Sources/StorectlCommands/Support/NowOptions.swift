internal import ArgumentParser
internal import Tapedeck

/// The time as of which a question is asked whose answer depends on it.
struct NowOptions: ParsableArguments {
    @Option(help: ArgumentHelp("As of this time (default: now).", valueName: "time"))
    var now: String?

    /// The time that was given, else the clock's.
    func time() throws -> UTCTime {
        if let now {
            return UTCTime(milliseconds: try TimeArgument.milliseconds(now, "--now"))
        }
        return UTCTime(milliseconds: Int64(clamping: EventLog.Options().now()))
    }
}
