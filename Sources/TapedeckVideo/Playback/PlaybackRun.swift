/// A stretch of uninterrupted playback within a viewing.
///
/// Each skip begins a new run, but a pause does not.
///
/// This type reads no clock: the caller passes the time of a monotonic clock.
package struct PlaybackRun: Sendable {
    /// The last report, with the time played in this run; nil before the first report.
    package private(set) var last: PlaybackCoalescing.Report?
    /// The time of the last report on the monotonic clock.
    private var steadyMilliseconds: UInt64 = 0
    /// Whether `restart` made the last report the beginning of a new run.
    private var isRestarted = false

    /// Creates a run without reports.
    package init() {}

    /// Adds the player's next report, which begins a new run if it belongs to another viewing or
    /// follows a skip.
    ///
    /// - Returns: Three reports: `report`, which now contains the time played; `ended`, the last
    ///   report of the previous run, or nil if no run has ended; and `start`, the report at which
    ///   `restart` began this run, or nil unless `report` is the first report after it. Record
    ///   `start` as well: without it, the time played before `restart` would be subtracted from the
    ///   time played since then.
    package mutating func add(
        _ report: PlaybackCoalescing.Report, steadyMilliseconds: UInt64
    ) -> (
        report: PlaybackCoalescing.Report, ended: PlaybackCoalescing.Report?,
        start: PlaybackCoalescing.Report?
    ) {
        var next = report
        next.event.playedSeconds = 0
        var ended = last
        var start: PlaybackCoalescing.Report?
        if let last, next.isSameViewing(as: last) {
            let passed = max(
                Double(steadyMilliseconds) - Double(self.steadyMilliseconds),
                // Reports may be added after playback, with their original times.
                Double(next.atMilliseconds) - Double(last.atMilliseconds))
            let moved = next.event.positionSeconds - last.event.positionSeconds
            if PlaybackRun.isPlayback(moved, within: passed) {
                next.event.playedSeconds = last.event.playedSeconds + max(0, moved)
                ended = nil
                if isRestarted { start = last }
            }
        }
        (last, self.steadyMilliseconds, isRestarted) = (next, steadyMilliseconds, false)
        return (next, ended, start)
    }

    /// Begins a new run at the last report.
    package mutating func restart() {
        isRestarted = isRestarted || last.map { $0.event.playedSeconds > 0 } ?? false
        last?.event.playedSeconds = 0
    }

    /// Returns whether playback can move the position by the given number of seconds in the given
    /// time, with some tolerance, because players report inexact positions.
    private static func isPlayback(_ seconds: Double, within milliseconds: Double) -> Bool {
        let slack = Double(PlayStatistics.Progress.slack)
        let furthest = milliseconds * Double(PlayStatistics.Progress.rateMax) + slack
        return seconds * 1_000 >= -slack && seconds * 1_000 <= furthest
    }
}

extension PlaybackCoalescing.Report {
    /// Whether the report is at the very end of the video.
    package var isAtVeryEnd: Bool {
        event.durationSeconds > 0 && event.positionSeconds >= event.durationSeconds
    }

    /// The interval that was played in the report's run; nil if nothing was played.
    package var watched: VideoWatched? {
        guard event.playedSeconds > 0 else { return nil }
        let start = max(0, event.positionSeconds - event.playedSeconds)
        return VideoWatched.with {
            ($0.video, $0.viewing) = (event.video, event.viewing)
            // The time played is a sum of many differences and therefore slightly inexact.
            $0.startSeconds = (start * 1_000).rounded() / 1_000
            $0.endSeconds = max($0.startSeconds, event.positionSeconds)
            if event.isEnd { $0.isComplete = true }
        }
    }
}
