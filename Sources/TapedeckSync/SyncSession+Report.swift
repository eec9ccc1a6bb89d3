internal import TapedeckLog
internal import TapedeckModel
internal import TapedeckSyncProtocol

extension SyncSession {
    /// Returns the progress of the sync.
    func progress() throws(LogError) -> SyncProgress {
        let position = upstream.cursor?.position ?? 0
        let wait: (ErrorCode, String, UInt64)? =
            switch state.phase {
            case .waiting(let wait), .polling(let wait): (wait.reason, wait.message, wait.until)
            default: nil
            }
        return SyncProgress(
            pushed: report.pushed, pulled: report.pulled,
            toPull: state.head > position ? state.head - position : 0,
            toPush: try lacking().reduce(0) { $0 + $1.count }, wait: wait,
            isSettled: state.phase == .settled)
    }

    /// Returns how many events the server lacks: for each origin, the last sequence number that the
    /// server has and the number of later events.
    ///
    /// Until the server has reported its last sequence numbers, the result is based on receipts.
    func lacking() throws(LogError) -> [(origin: OriginID, from: UInt64, count: UInt64)] {
        let known = state.acknowledged
        guard !known.isEmpty else { return try upstream.undelivered(in: log) }
        return try log.origins().compactMap { row in
            let from = known[row.origin] ?? 0
            return row.lastSequence > from ? (row.origin, from, row.lastSequence - from) : nil
        }
    }

    /// Returns the final report, with the pending events and the reason why each is pending.
    ///
    /// As in `outbox` and `status`, an event is pending until its receipt is recorded.
    func finalReport(_ failure: SyncFailure?) throws(LogError) -> SyncReport {
        var report = report
        report.failure = failure.map(named)
        report.until = state.refusedUntil
        guard try upstream.isCounted(in: log) else { return report }
        for (origin, from, count) in try upstream.undelivered(in: log) {
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

    /// Returns a failure as an error that names the server.
    func named(_ failure: SyncFailure) -> SyncError {
        SyncError(failure.ofRemote.naming(upstream.name))
    }

    /// Returns the number of events in `other` that `some` lacks, computed from the last sequence
    /// number of each origin.
    ///
    /// The server's numbers are not trusted, so the sum saturates instead of overflowing.
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

    /// Returns what a sync would transfer, based on the response to a handshake.
    func preview(_ response: SyncResponse) throws -> SyncReport {
        guard case .handshake(let answer) = response, LineageID(answer.lineage) != nil,
            answer.head <= StoredNumber.max
        else {
            throw named(.malformed("a handshake"))
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
