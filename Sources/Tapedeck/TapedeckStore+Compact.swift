public import TapedeckLog
internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

extension TapedeckStore {
    /// Removes superseded events: player reports covered by later reports, and events with
    /// `Retention.latest` that a newer event replaces, such as what a device was playing.
    ///
    /// No list, digest or hash chain changes. An event is kept until it has been delivered to every
    /// server and every subscription. Up to 1,023 of each origin's last events are also kept. Reads
    /// and appends continue meanwhile; each step holds the writer's lock for a few milliseconds.
    /// Compaction can be interrupted at any time and resumes later. Future events reuse the freed
    /// space; `EventLog.shrink` returns it to the system.
    ///
    /// Lists as of a past time reflect only the events that remain.
    ///
    /// - Parameter progress: Called with the progress, on the thread that does the work.
    ///
    /// The cost is one read of the events recorded since the last compaction. Throws `StoreError`:
    /// `.readOnly`, `.diskFull`, `.damaged`, `.closed`.
    @discardableResult
    public func compact(
        progress: (@Sendable (LogProgress) -> Void)? = nil
    ) async throws(StoreError) -> CompactionReport {
        let (log, projections) = (log, projections)
        return try await run {
            try projections.compact(.video(log), progress: progress)
        }
    }
}

extension CompactionRule {
    /// Returns the compaction rule of the video domain; it keeps events that a known server still
    /// lacks.
    @available(*, noasync)
    package static func video(_ log: EventLog) throws -> CompactionRule {
        let types = LatestCompaction.types.union(RemoteEvents.latestTypes)
        return CompactionRule(
            types: types.union([PlaybackProgressed.eventType]),
            superseded: { candidates in
                zip(
                    LatestCompaction.superseded(candidates, types: types) {
                        EventCatalogue.video.reads($0) || RemoteEvents.reads($0)
                    },
                    PlaybackCompaction.superseded(candidates.map(PlaybackCompaction.Recorded.init))
                ).map { $0 || $1 }
            },
            isSettled: try Upstream.settlement(in: log))
    }
}
