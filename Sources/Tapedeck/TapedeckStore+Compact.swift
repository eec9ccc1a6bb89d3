public import TapedeckLog
internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

extension TapedeckStore {
    /// Takes away what nobody will miss: players' reports that say nothing which a later one does not say, and
    /// what a device played or where a video was found before the newest word of it.
    ///
    /// No list changes, nor does any digest or hash chain. What has not been delivered to every server, or to
    /// every subscription, stays; so do the last thousand events of each origin. Reads and appends go on;
    /// each step holds the writer's lock for some milliseconds. It may be cut off at any time, and goes on
    /// where it was. The room is used for what is recorded next; `EventLog.shrink` gives it back to the system.
    ///
    /// As of a time gone by, lists are as exact as what was left of it.
    ///
    /// - Parameter progress: is told how far it has come, on the thread that does it.
    ///
    /// Costs a read of what was recorded since the last time. Throws `StoreError`: `.readOnly`, `.diskFull`,
    /// `.damaged`, `.closed`.
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
    /// The rule of the video domain, for the servers that a log knows.
    @available(*, noasync)
    package static func video(_ log: EventLog) throws -> CompactionRule {
        CompactionRule(
            types: LatestCompaction.types.union([PlaybackProgressed.eventType]),
            superseded: { candidates in
                zip(
                    LatestCompaction.superseded(candidates),
                    PlaybackCompaction.superseded(candidates.map(PlaybackCompaction.Recorded.init))
                ).map { $0 || $1 }
            },
            isSettled: try Upstream.settlement(in: log))
    }
}
