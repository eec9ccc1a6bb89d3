internal import Foundation
public import TapedeckModel

/// A filter that drops a player's redundant reports.
///
/// Players report every second, and most reports are superseded by the next one.
///
/// ```swift
/// var coalescing = PlaybackCoalescing()
/// var reports = try coalescing.take(tick, atMilliseconds: UInt64(now.milliseconds))
/// if let last = coalescing.flush() { reports.append(last) }  // at a pause
/// try await store.append(reports.map(\.event))
/// ```
///
/// The filter does not affect any list: playback positions, finished videos, the 75 % rule, plays,
/// and the watched time and completions of each quarter-hour stay the same. The following reports
/// are therefore kept:
///
/// - the first report of a viewing, and its last report before another viewing;
/// - the first report at 75 %, the first report beyond 75 %, and the first report at the end, each
///   of which is returned immediately;
/// - the reports on both sides of a jump or a change in the duration;
/// - the last report of a quarter-hour in which the viewing progressed;
/// - a report made at least `holdSecondsMax` seconds after the last kept report, so that other
///   devices and queries can see that playback continues.
///
/// At most one report is held back. The held report is available in `held`, so that the caller can
/// save it. Use one filter per player, because a report of another viewing ends the previous
/// viewing. With `WatchLaterRule.rule2012`, a video that is marked again after its viewing has
/// passed 75 % leaves the watch-later list only at the next kept report.
///
/// This type uses no clock and no I/O. A report costs a few comparisons.
public struct PlaybackCoalescing: Sendable {
    /// A report and its time.
    public struct Report: Hashable, Sendable {
        /// The player's report.
        public var event: PlaybackProgressed
        /// The time of the report, in milliseconds since 1970.
        public var atMilliseconds: UInt64

        /// Creates a report.
        public init(_ event: PlaybackProgressed, atMilliseconds: UInt64) {
            self.event = event
            self.atMilliseconds = atMilliseconds
        }
    }

    /// A report is always kept if at least this many seconds have passed since the last kept
    /// report.
    public static let holdSecondsMax = 300.0

    /// The report that is held back; nil if there is none.
    public private(set) var held: Report?
    private let holdMillisecondsMax: UInt64
    /// The last report that was kept; nil if no report has been kept yet.
    private var kept: Report?
    /// The thresholds that the viewing has passed.
    private var reached = Reached()

    /// Creates a filter that has received no reports yet.
    ///
    /// - Parameter holdSecondsMax: A report is always kept if at least this many seconds have
    ///   passed since the last kept report; 0 keeps all reports.
    public init(holdSecondsMax: Double = PlaybackCoalescing.holdSecondsMax) {
        precondition(
            (0...FieldLimits.secondsMax).contains(holdSecondsMax),
            "holdSecondsMax must be between 0 and FieldLimits.secondsMax")
        holdMillisecondsMax = UInt64(holdSecondsMax * 1_000)
    }

    /// Takes the player's next report, and returns the reports to record now, in order.
    ///
    /// Throws `ModelError` if the report is invalid (see `PlaybackProgressed.normalized()`), and
    /// leaves the state unchanged.
    public mutating func take(
        _ event: PlaybackProgressed, atMilliseconds: UInt64
    ) throws(ModelError) -> [Report] {
        let next = Report(try event.normalized(), atMilliseconds: atMilliseconds)
        let before = reached
        guard let kept, kept.isSameViewing(as: next) else {
            let last = flush()
            reached = Reached()
            reached.add(next.event)
            self.kept = next
            return (last.map { [$0] } ?? []) + [next]
        }
        var given: [Report] = []
        if let held, !next.canReplace(held, after: kept) {
            given.append(held)
            self.kept = held
        }
        held = next
        reached.add(next.event)
        let since = self.kept?.atMilliseconds ?? 0
        if reached != before || next.atMilliseconds < since
            || next.atMilliseconds - since >= holdMillisecondsMax
        {
            given.append(next)
            (self.kept, held) = (next, nil)
        }
        return given
    }

    /// Removes and returns the report that is held back, so that it can be recorded now.
    ///
    /// Call this at a pause or a stop, before a jump, and before the process is suspended.
    public mutating func flush() -> Report? {
        guard let held else { return nil }
        (kept, self.held) = (held, nil)
        return held
    }

    /// The thresholds that a viewing has passed.
    private struct Reached: Equatable {
        private var mark = WatchLater.Reach.before
        private var end = false

        mutating func add(_ event: PlaybackProgressed) {
            mark = max(
                mark, WatchLater.reach(of: event.positionSeconds, in: event.durationSeconds))
            if event.isEnd { end = true }
        }
    }
}

extension PlaybackCoalescing.Report {
    func isSameViewing(as other: PlaybackCoalescing.Report) -> Bool {
        event.viewing == other.event.viewing && event.video == other.event.video
    }

    /// Returns whether `held`, a report between `kept` and this one, can be dropped without
    /// changing a list.
    fileprivate func canReplace(
        _ held: PlaybackCoalescing.Report, after kept: PlaybackCoalescing.Report
    ) -> Bool {
        // The later report must contain everything that the held report contains.
        guard held.atMilliseconds <= atMilliseconds,
            held.event.durationSeconds == event.durationSeconds,
            !held.event.isEnd || event.isEnd
        else { return false }
        let whole = progress.watched(since: kept.progress)
        let parts = (
            held.progress.watched(since: kept.progress), progress.watched(since: held.progress)
        )
        let isOneQuarter = held.quarter == quarter
        return isOneQuarter ? parts.0 + parts.1 == whole : parts == (0, whole)
    }

    private var quarter: Int64 { PlayStatistics.quarter(of: Int64(atMilliseconds)) }

    private var progress: PlayStatistics.Progress {
        PlayStatistics.Progress(
            at: Int64(atMilliseconds), positionSeconds: event.positionSeconds,
            playedSeconds: event.hasPlayedSeconds ? event.playedSeconds : nil)
    }
}

extension PlaybackProgressed {
    /// Whether the position is considered the end of the video; see `Playback`.
    var isEnd: Bool { Playback.isEnd(positionSeconds, of: durationSeconds) }
}
