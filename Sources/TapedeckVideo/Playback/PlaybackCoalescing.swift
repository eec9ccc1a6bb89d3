internal import Foundation
public import TapedeckModel

/// Which of a player's reports are worth an event: players report every second, and all but a few say
/// nothing that the next one does not say, too.
///
/// ```swift
/// var coalescing = PlaybackCoalescing()
/// var reports = try coalescing.take(tick, atMilliseconds: UInt64(now.milliseconds))
/// if let last = coalescing.flush() { reports.append(last) }  // at a pause
/// try await store.append(reports.map(\.event))
/// ```
///
/// What is left out changes no list: where a video was left, what is finished, the 75 % rule, plays, time
/// watched and completions of each quarter of an hour come out the same. So these stay:
///
/// - the first report of a viewing, and the last before another one's;
/// - the first that reaches 75 %, the first beyond, and the first that reaches the end: at once;
/// - those on either side of a jump or of a change of the duration;
/// - the last before a quarter of an hour in which the viewing moves on;
/// - one `holdSecondsMax` behind the one before, so that other devices and queries see that it goes on.
///
/// One report at a time is held back; `held` says which, so that it can be kept safe. It suits one player: a
/// report of another viewing ends the one before. Watch later by the rule of 2012 meets a mark that was set
/// again beyond 75 % at the next report that stays, and no sooner.
///
/// A value without clock or I/O; a report costs a few comparisons.
public struct PlaybackCoalescing: Sendable {
    /// A report, and when it was made.
    public struct Report: Hashable, Sendable {
        /// What the player said.
        public var event: PlaybackProgressed
        /// When, in Unix milliseconds.
        public var atMilliseconds: UInt64

        /// Makes one.
        public init(_ event: PlaybackProgressed, atMilliseconds: UInt64) {
            self.event = event
            self.atMilliseconds = atMilliseconds
        }
    }

    /// After so many seconds without one a report stays.
    public static let holdSecondsMax = 300.0

    /// The report that is held back.
    public private(set) var held: Report?
    private let holdMillisecondsMax: UInt64
    /// The last report that stayed; nil before the first.
    private var kept: Report?
    /// How far the viewing has come.
    private var reached = Reached()

    /// Makes one that has seen nothing.
    ///
    /// - Parameter holdSecondsMax: after how long a report stays in any case; 0 lets all stay.
    public init(holdSecondsMax: Double = PlaybackCoalescing.holdSecondsMax) {
        precondition(
            (0...FieldLimits.secondsMax).contains(holdSecondsMax),
            "reports are held for 0 seconds or longer")
        holdMillisecondsMax = UInt64(holdSecondsMax * 1_000)
    }

    /// Takes the player's next report; gives those that are to be recorded now, in their order.
    ///
    /// Throws `ModelError` where the report is none (`PlaybackProgressed.normalized()`); nothing has
    /// changed then.
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

    /// What is held back, to be recorded now: at a pause or a stop, before a jump, before the process is
    /// suspended.
    public mutating func flush() -> Report? {
        guard let held else { return nil }
        (kept, self.held) = (held, nil)
        return held
    }

    /// Which marks a viewing has passed.
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
    fileprivate func isSameViewing(as other: PlaybackCoalescing.Report) -> Bool {
        event.viewing == other.event.viewing && event.video == other.event.video
    }

    /// Whether nothing comes out otherwise where a report between `kept` and this one is left out.
    fileprivate func canReplace(
        _ held: PlaybackCoalescing.Report, after kept: PlaybackCoalescing.Report
    ) -> Bool {
        // The later report says what the one before it says.
        guard held.atMilliseconds <= atMilliseconds,
            held.event.durationSeconds == event.durationSeconds,
            !held.event.isEnd || event.isEnd
        else { return false }
        let whole = kept.watchedMilliseconds(to: self)
        let parts = (kept.watchedMilliseconds(to: held), held.watchedMilliseconds(to: self))
        let isOneQuarter = held.quarter == quarter
        return isOneQuarter ? parts.0 + parts.1 == whole : parts == (0, whole)
    }

    private var quarter: Int64 { PlayStatistics.quarter(of: Int64(atMilliseconds)) }

    private func watchedMilliseconds(to later: PlaybackCoalescing.Report) -> UInt64 {
        PlayStatistics.watchedMilliseconds(
            from: PlayStatistics.milliseconds(event.positionSeconds), at: Int64(atMilliseconds),
            to: PlayStatistics.milliseconds(later.event.positionSeconds),
            at: Int64(later.atMilliseconds))
    }
}

extension PlaybackProgressed {
    /// Whether it counts as the end; see `Playback`.
    fileprivate var isEnd: Bool { Playback.isEnd(positionSeconds, of: durationSeconds) }
}
