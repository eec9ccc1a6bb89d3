internal import TapedeckLog
internal import TapedeckModel
public import TapedeckVideo

/// Records what a player reports every second, as few events: see `PlaybackCoalescing`.
///
/// ```swift
/// let recorder = try await PlaybackRecorder.open(store)
/// try await recorder.report(tick)      // every second, while it plays
/// try await recorder.flush()           // at a pause or a stop, and before the app is suspended
/// ```
///
/// The report that is held back lies in a file of the store meanwhile: it outlives the process, and is
/// recorded, as of when it was made, when the recorder is opened again. A power cut may lose it. Lists show
/// it once it is recorded: at the latest `PlaybackCoalescing.holdSecondsMax` later.
///
/// One recorder a player; reports are recorded in the order of the calls.
public actor PlaybackRecorder {
    private let store: TapedeckStore
    private let file: SlotFile<HeldEvent>
    private var coalescing: PlaybackCoalescing
    /// What is to be recorded, in order.
    private var waiting: [ProposedEvent] = []
    private var isRecording = false
    private var others: [CheckedContinuation<Void, Never>] = []

    private init(
        _ store: TapedeckStore, _ file: SlotFile<HeldEvent>, _ coalescing: PlaybackCoalescing
    ) {
        self.store = store
        self.file = file
        self.coalescing = coalescing
    }

    /// Opens the recorder of a player, and records what it held back when its process ended.
    ///
    /// - Parameters:
    ///   - store: where to.
    ///   - player: a name among the store's players, of small letters, digits, dots and dashes.
    ///   - holdSecondsMax: after how long without one a report is recorded in any case.
    ///
    /// Throws `StoreError`: `.busy` (the player has a recorder, here or in another process), `.usage` (no
    /// such name), `.damaged` (what it held back), and what an append throws.
    public static func open(
        _ store: TapedeckStore, player: String = "player",
        holdSecondsMax: Double = PlaybackCoalescing.holdSecondsMax
    ) async throws(StoreError) -> PlaybackRecorder {
        let log = store.log
        let (file, left) = try await store.run {
            let file = try log.holdEvents(named: player)
            return (file, try file.read()?.event)
        }
        let recorder = PlaybackRecorder(
            store, file, PlaybackCoalescing(holdSecondsMax: holdSecondsMax))
        if let left { try await recorder.record([left]) }
        return recorder
    }

    /// Takes the player's next report.
    ///
    /// Costs a small write to a file; an append, which waits for the disk, where the report is one that
    /// changes a list. Throws `StoreError`: what is wrong with the report, and what an append throws; what
    /// could not be recorded is tried again by the next call.
    ///
    /// - Parameters:
    ///   - report: what the player says.
    ///   - atMilliseconds: when it was made; nil for now.
    public func report(
        _ report: PlaybackProgressed, atMilliseconds: UInt64? = nil
    ) async throws(StoreError) {
        let given = try StoreError.wrapping {
            try coalescing.take(report, atMilliseconds: atMilliseconds ?? store.log.now())
        }
        try await record(given)
    }

    /// Records the report that is held back, if there is one.
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
        // One at a time, so that they stand in the log as they came.
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

    /// Keeps the report that is held back safe; what was in the file is recorded.
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
