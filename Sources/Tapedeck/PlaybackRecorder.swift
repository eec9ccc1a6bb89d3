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
/// be lost in a power failure. Lists show a report once it is recorded, which happens after at most
/// `PlaybackCoalescing.holdSecondsMax` seconds.
///
/// The recorder sets `playedSeconds` in each report, measured by a clock that runs steadily even if
/// the device's clock is changed or stands still.
///
/// Use one recorder per player; reports are recorded in the order of the calls.
public actor PlaybackRecorder {
    private let store: TapedeckStore
    private let file: SlotFile<HeldEvent>
    private let clock: SteadyClock
    private var coalescing: PlaybackCoalescing
    private var run = PlaybackRun()
    /// The events to record, in order.
    private var waiting: [ProposedEvent] = []
    private var isRecording = false
    private var others: [CheckedContinuation<Void, Never>] = []

    private init(
        _ store: TapedeckStore, _ file: SlotFile<HeldEvent>, _ clock: SteadyClock,
        _ coalescing: PlaybackCoalescing
    ) {
        self.store = store
        self.file = file
        self.clock = clock
        self.coalescing = coalescing
    }

    /// Opens the recorder for a player, and records the report that an earlier process held back.
    ///
    /// - Parameters:
    ///   - store: The store that receives the events.
    ///   - player: The player's name, unique within the store: lowercase letters, digits, dots and
    ///     dashes.
    ///   - holdSecondsMax: The longest time, in seconds, for which a report is held back.
    ///
    /// Throws `StoreError`: `.busy` (the player already has a recorder, here or in another
    /// process), `.usage` (the name is invalid), `.damaged` (the held-back report is damaged), and
    /// the same errors as an append.
    public static func open(
        _ store: TapedeckStore, player: String = "player",
        holdSecondsMax: Double = PlaybackCoalescing.holdSecondsMax
    ) async throws(StoreError) -> PlaybackRecorder {
        try await open(store, player: player, holdSecondsMax: holdSecondsMax, clock: .system)
    }

    /// Opens the recorder for a player, with a given steady clock.
    package static func open(
        _ store: TapedeckStore, player: String = "player",
        holdSecondsMax: Double = PlaybackCoalescing.holdSecondsMax, clock: SteadyClock
    ) async throws(StoreError) -> PlaybackRecorder {
        let log = store.log
        let (file, left) = try await store.run {
            let file = try log.holdEvents(named: player)
            return (file, try file.read()?.event)
        }
        let recorder = PlaybackRecorder(
            store, file, clock, PlaybackCoalescing(holdSecondsMax: holdSecondsMax))
        if let left { try await recorder.record([left]) }
        return recorder
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
        let given = try StoreError.wrapping {
            let next = run.add(
                PlaybackCoalescing.Report(
                    try report.normalized(), atMilliseconds: atMilliseconds ?? store.log.now()),
                steadyMilliseconds: clock.read().milliseconds)
            return try coalescing.take(next.event, atMilliseconds: next.atMilliseconds)
        }
        try await record(given)
    }

    /// Records the held-back report, if there is one.
    public func flush() async throws(StoreError) {
        let last = coalescing.flush()
        try await record(last.map { [$0] } ?? [])
    }

    private func record(
        _ reports: [PlaybackCoalescing.Report]
    ) async throws(StoreError) {
        let events = try StoreError.wrapping { try reports.map(ProposedEvent.init) }
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

    /// Writes the held-back report to the file, replacing a report that has been recorded or
    /// superseded.
    private func hold() throws(StoreError) {
        try StoreError.wrapping {
            try file.write(HeldEvent(try coalescing.held.map(ProposedEvent.init)))
        }
    }
}

extension ProposedEvent {
    fileprivate init(_ report: PlaybackCoalescing.Report) throws {
        try self.init(report.event, atMilliseconds: report.atMilliseconds)
    }
}
