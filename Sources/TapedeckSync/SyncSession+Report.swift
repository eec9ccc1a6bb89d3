internal import TapedeckLog
internal import TapedeckModel
internal import TapedeckSyncProtocol

extension SyncSession {
    /// How far the sync is.
    func progress() throws(LogError) -> SyncProgress {
        let position = upstream.cursor?.position ?? 0
        var wait: (ErrorCode, String, UInt64)?
        if case .waiting(let waiting) = state.phase {
            wait = (waiting.reason, waiting.message, waiting.until)
        }
        return SyncProgress(
            pushed: report.pushed, pulled: report.pulled,
            toPull: state.head > position ? state.head - position : 0,
            toPush: try lacking().reduce(0) { $0 + $1.count }, wait: wait,
            isSettled: state.phase == .settled)
    }

    /// The events that the server lacks, by origin: the last one that it has, and how many follow.
    ///
    /// Before the server has said it, what its receipts say: the same that `outbox` and `status` tell.
    func lacking() throws(LogError) -> [(origin: OriginID, from: UInt64, count: UInt64)] {
        let known = state.acknowledged
        guard !known.isEmpty else { return try upstream.undelivered(in: log) }
        return try log.origins().compactMap { row in
            let from = known[row.origin] ?? 0
            return row.lastSequence > from ? (row.origin, from, row.lastSequence - from) : nil
        }
    }

    /// What was done, and what waits and why.
    func finalReport(_ failure: SyncFailure?) throws(LogError) -> SyncReport {
        var report = report
        report.failure = failure.map(SyncError.init)
        for (origin, from, count) in try lacking() {
            let parked = state.parked[origin]
            guard parked != nil || failure != nil else { continue }
            let reason = parked?.code ?? failure?.code ?? .offline
            report.waitingCount += count
            let room = UInt64(SyncReport.waitingMax - report.waiting.count)
            for sequence in (from + 1)..<(from + 1 + min(count, room)) {
                report.waiting.append(
                    .init(
                        event: EventID(origin: origin, sequence: sequence), reason: reason,
                        until: nil))
            }
        }
        return report
    }

    /// The number of events in `other` that `some` lacks, by each origin's last sequence.
    ///
    /// The server's figures are not trusted: the sum saturates.
    private static func missing(
        from some: [OriginID: UInt64], _ other: [OriginID: UInt64]
    ) -> UInt64 {
        other.reduce(0) { sum, row in
            let has = some[row.key] ?? 0
            guard row.value > has else { return sum }
            let (sum, isOver) = sum.addingReportingOverflow(row.value - has)
            return isOver ? .max : sum
        }
    }

    /// What a sync would do, by a handshake's answer.
    func preview(_ response: SyncResponse) throws -> SyncReport {
        guard case .handshake(let answer) = response, LineageID(answer.lineage) != nil else {
            throw SyncError(SyncFailure.malformed("a handshake"))
        }
        var known: [OriginID: UInt64] = [:]
        for state in answer.origins {
            if let origin = OriginID(state.origin) { known[origin] = state.lastSequence }
        }
        var report = SyncReport()
        var local: [OriginID: UInt64] = [:]
        for row in try log.origins() { local[row.origin] = row.lastSequence }
        report.pushed = SyncSession.missing(from: known, local)
        report.pulled = SyncSession.missing(from: local, known)
        return report
    }
}
