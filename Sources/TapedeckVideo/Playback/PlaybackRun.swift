/// Uninterrupted playback of a viewing; each skip begins another run, but a pause does not.
///
/// This type reads no clock: the caller passes the time of a clock that cannot be set.
package struct PlaybackRun: Sendable {
    /// The last report, with the time played in this run; nil before the first report.
    package private(set) var last: PlaybackCoalescing.Report?
    /// The time of the last report on the steady clock.
    private var steadyMilliseconds: UInt64 = 0

    /// Creates a run without reports.
    package init() {}

    /// Adds the player's next report, which begins another run if it belongs to another viewing or
    /// follows a skip, and returns the report with the time played.
    package mutating func add(
        _ report: PlaybackCoalescing.Report, steadyMilliseconds: UInt64
    ) -> PlaybackCoalescing.Report {
        var next = report
        next.event.playedSeconds = 0
        if let last, next.isSameViewing(as: last) {
            let passed = max(
                Double(steadyMilliseconds) - Double(self.steadyMilliseconds),
                // Reports may be added after playback, with their original times.
                Double(next.atMilliseconds) - Double(last.atMilliseconds))
            let moved = next.event.positionSeconds - last.event.positionSeconds
            if PlaybackRun.isPlayback(moved, within: passed) {
                next.event.playedSeconds = last.event.playedSeconds + max(0, moved)
            }
        }
        (last, self.steadyMilliseconds) = (next, steadyMilliseconds)
        return next
    }

    /// Returns whether playback can move the position by the given number of seconds; the positions
    /// that players report are slightly inexact.
    private static func isPlayback(_ seconds: Double, within milliseconds: Double) -> Bool {
        let slack = Double(PlayStatistics.Progress.slack)
        let furthest = milliseconds * Double(PlayStatistics.Progress.rateMax) + slack
        return seconds * 1_000 >= -slack && seconds * 1_000 <= furthest
    }
}
