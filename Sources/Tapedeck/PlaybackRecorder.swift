internal import TapedeckLog
internal import TapedeckModel
package import TapedeckSync
public import TapedeckVideo

/// Accepts a report every second from a player and records only a few of them as events; see
/// `PlaybackCoalescing`.
///
/// ```swift
/// let recorder = try await PlaybackRecorder.open(store)
/// try await recorder.report(tick)      // every second, while it plays
/// try await recorder.flush()           // at a pause or a stop, and before the app is suspended
/// ```
///
/// A held-back report is kept in a file in the store. The report survives the end of the process,
/// and is recorded with its original time when the recorder is opened again. A held-back report may
/// be lost in a power failure. A report appears in lists once it is recorded, after at most
/// `PlaybackCoalescing.holdSecondsMax` seconds.
///
/// The recorder sets `playedSeconds` in each report. It measures this time with a monotonic clock,
/// so changes to the device's clock do not affect it.
///
/// With `reportsWatched`, the recorder also records a `VideoWatched` for each run of playback, so
/// that remotes count the views. A run is playback without a skip, up to the next call of `flush()`
/// or the end of the video. If the process ends during a run, the run is recorded when the recorder
/// is opened again.
///
/// Use one recorder per player; reports are recorded in the order of the calls.
public actor PlaybackRecorder {
    private let store: TapedeckStore
    private let file: SlotFile<HeldEvent>
    private let clock: SteadyClock
    private var coalescing: PlaybackCoalescing
    private var run = PlaybackRun()
    private let reportsWatched: Bool
    /// The last viewing whose end was recorded; nil if there is none.
    private var completed: String?
    /// The events to record, in order.
    private var waiting: [ProposedEvent] = []
    private var isRecording = false
    private var others: [CheckedContinuation<Void, Never>] = []

    private init(
        _ store: TapedeckStore, _ file: SlotFile<HeldEvent>, _ clock: SteadyClock,
        _ coalescing: PlaybackCoalescing, reportsWatched: Bool
    ) {
        self.store = store
        self.file = file
        self.clock = clock
        self.reportsWatched = reportsWatched
        self.coalescing = coalescing
    }

    /// Opens the recorder for a player, and records the report that an earlier process held back.
    ///
    /// - Parameters:
    ///   - store: The store that receives the events.
    ///   - player: The player's name, unique within the store: lowercase letters, digits, dots and
    ///     dashes.
    ///   - holdSecondsMax: The longest time, in seconds, for which a report is held back.
    ///   - reportsWatched: Whether to record a `VideoWatched` for each run.
    ///
    /// Throws `StoreError`: `.busy` (the player already has a recorder, here or in another
    /// process), `.usage` (the name is invalid), `.damaged` (the held-back report is damaged), and
    /// the same errors as an append.
    public static func open(
        _ store: TapedeckStore, player: String = "player",
        holdSecondsMax: Double = PlaybackCoalescing.holdSecondsMax, reportsWatched: Bool = false
    ) async throws(StoreError) -> PlaybackRecorder {
        try await open(
            store, player: player, holdSecondsMax: holdSecondsMax, reportsWatched: reportsWatched,
            clock: .system)
    }

    /// Opens the recorder for a player, with the given monotonic clock.
    package static func open(
        _ store: TapedeckStore, player: String = "player",
        holdSecondsMax: Double = PlaybackCoalescing.holdSecondsMax, reportsWatched: Bool = false,
        clock: SteadyClock
    ) async throws(StoreError) -> PlaybackRecorder {
        let log = store.log
        let (file, left) = try await store.run {
            let file = try log.holdEvents(named: player)
            return (file, try file.read()?.event)
        }
        let recorder = PlaybackRecorder(
            store, file, clock, PlaybackCoalescing(holdSecondsMax: holdSecondsMax),
            reportsWatched: reportsWatched)
        if let left { try await recorder.recordLeft(left) }
        return recorder
    }

    /// Records the report that an earlier process held back, and the run that was cut short when
    /// that process ended.
    private func recordLeft(_ event: ProposedEvent) async throws(StoreError) {
        let events = try StoreError.wrapping {
            guard reportsWatched else { return [event] }
            let report = try PlaybackProgressed(
                payload: event.payload, version: event.schemaVersion)
            let at = event.atMilliseconds ?? store.log.now()
            // Do not record the run twice: the process may have ended after the run was recorded
            // and before the file was cleared.
            guard try !isRecorded(report, since: at) else { return [event] }
            return try [event] + watched(.init(report, atMilliseconds: at))
        }
        try await record(events)
    }

    /// Returns whether the log contains a `VideoWatched` for the run that a report belongs to.
    ///
    /// Reads the video's `VideoWatched` events.
    private func isRecorded(
        _ report: PlaybackProgressed, since milliseconds: UInt64
    ) throws -> Bool {
        let tag = try VideoKey(report.video).tag
        var after = LogPosition.start
        while true {
            let events = try store.log.events(after: after, type: VideoWatched.eventType, tag: tag)
            guard let last = events.last else { return false }
            for event in events where event.stamp.milliseconds >= milliseconds {
                let watched = try event.decode(VideoWatched.self)
                if watched.viewing == report.viewing { return true }
            }
            after = last.position
        }
    }

    /// Accepts the player's next report.
    ///
    /// A call costs a small write to a file or, if the report changes a list, an append, which
    /// waits for the disk. Throws `StoreError` for an invalid report, and the same errors as an
    /// append; the next call retries events that could not be recorded.
    ///
    /// - Parameters:
    ///   - report: The player's report.
    ///   - atMilliseconds: The time of the report, in Unix milliseconds; nil for the current time.
    public func report(
        _ report: PlaybackProgressed, atMilliseconds: UInt64? = nil
    ) async throws(StoreError) {
        let events = try StoreError.wrapping {
            let (next, ended, start) = run.add(
                PlaybackCoalescing.Report(
                    try report.normalized(), atMilliseconds: atMilliseconds ?? store.log.now()),
                steadyMilliseconds: clock.read().milliseconds)
            let reports = [start, next].compactMap { $0 }
            var events = try reports.flatMap {
                try coalescing.take($0.event, atMilliseconds: $0.atMilliseconds)
            }.map(ProposedEvent.init)
            if let ended { events += try watched(ended) }
            if reportsWatched, next.isAtVeryEnd, next.watched != nil { events += try endRun() }
            return events
        }
        try await recordOrHold(events)
    }

    /// Records the held-back report, if there is one, and ends the run.
    public func flush() async throws(StoreError) {
        let events = try StoreError.wrapping { try endRun() }
        try await recordOrHold(events)
    }

    /// Ends the run, and returns the held-back report and the event for the run.
    private func endRun() throws -> [ProposedEvent] {
        var events: [ProposedEvent] = []
        if let held = coalescing.flush() { events.append(try ProposedEvent(held)) }
        if let last = run.last { events += try watched(last) }
        run.restart()
        return events
    }

    /// Returns the event for a run that ended with a report; none if nothing was played.
    private func watched(_ last: PlaybackCoalescing.Report) throws -> [ProposedEvent] {
        guard reportsWatched, var watched = last.watched else { return [] }
        // Report a viewing as complete only once, even if its last seconds are played in several
        // runs.
        if watched.isComplete, completed == watched.viewing { watched.clearIsComplete() }
        if watched.isComplete { completed = watched.viewing }
        return [try ProposedEvent(watched, atMilliseconds: last.atMilliseconds)]
    }

    private func recordOrHold(_ events: [ProposedEvent]) async throws(StoreError) {
        if events.isEmpty, waiting.isEmpty { return try hold() }
        try await record(events)
    }

    private func record(_ events: [ProposedEvent]) async throws(StoreError) {
        waiting += events
        // Append one batch at a time, so that events are recorded in the order of the calls.
        while isRecording { await withCheckedContinuation { others.append($0) } }
        guard !waiting.isEmpty else { return }
        isRecording = true
        let batch = waiting
        var failure: StoreError?
        do {
            _ = try await store.log.append(batch)
            waiting.removeFirst(batch.count)
            try hold()
        } catch {
            failure = StoreError(error)
        }
        isRecording = false
        for other in others { other.resume() }
        others = []
        if let failure { throw failure }
    }

    /// Writes the held-back report to the file.
    ///
    /// If no report is held back, writes the last report of the current run, or clears the file if
    /// there is no run to record.
    private func hold() throws(StoreError) {
        let open = reportsWatched ? run.last.flatMap { $0.watched == nil ? nil : $0 } : nil
        let held = coalescing.held ?? open
        try StoreError.wrapping { try file.write(HeldEvent(try held.map(ProposedEvent.init))) }
    }
}

extension ProposedEvent {
    fileprivate init(_ report: PlaybackCoalescing.Report) throws {
        try self.init(report.event, atMilliseconds: report.atMilliseconds)
    }
}
