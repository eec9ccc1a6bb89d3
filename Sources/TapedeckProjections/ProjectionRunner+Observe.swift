internal import Foundation
internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

extension ProjectionRunner {
    /// The maximum number of unread commits per observer; if there are more, the unread commits are
    /// replaced by one `.reset`.
    static let bufferedChangesMax = 256

    /// Returns a stream of the changes to one row table, including those committed by other
    /// processes.
    ///
    /// The stream begins with `.reset`: read the table, then apply the changes that follow. The
    /// observer need not read the table again unless it falls behind and receives another `.reset`.
    /// The stream ends when its task is cancelled or the store is closed. If
    /// `Projection.rowsAreFollowed` is false, the stream contains only `.reset`.
    public func observe(
        _ projection: some Projection, table: Int = 0
    ) -> AsyncStream<RowChanges> {
        let fingerprint = ProjectionDriver.fingerprint(of: projection)
        return AsyncStream(bufferingPolicy: .bufferingOldest(ProjectionRunner.bufferedChangesMax)) {
            stream in
            let task = Task {
                var place: DiffPlace?
                while !Task.isCancelled {
                    do {
                        let (changes, next) = try await self.changes(
                            fingerprint, table: table, after: place)
                        place = next
                        for change in changes {
                            // Once a change is dropped, all later changes are useless, so start
                            // over with a reset.
                            if case .dropped = stream.yield(change) {
                                place = nil
                                break
                            }
                        }
                        try await Task.sleep(for: ProjectionRunner.pollInterval)
                    } catch {
                        break
                    }
                }
                stream.finish()
            }
            stream.onTermination = { _ in task.cancel() }
        }
    }

    private func changes(
        _ fingerprint: Digest16, table: Int, after place: DiffPlace?
    ) async throws -> ([RowChanges], DiffPlace) {
        try await withCheckedThrowingContinuation { waiting in
            following.async {
                waiting.resume(
                    with: Result {
                        try self.changesNow(fingerprint, table: table, after: place)
                    })
            }
        }
    }

    private func changesNow(
        _ fingerprint: Digest16, table: Int, after place: DiffPlace?
    ) throws -> ([RowChanges], DiffPlace) {
        guard let driver = drivers.first(where: { $0.fingerprint == fingerprint }) else {
            throw ProjectionError(.notFound, "this store does not have that projection")
        }
        var due = try due()
        while true {
            if let file = try serving([driver])?.first?.file,
                let found = try file.environment.read({ transaction in
                    try self.serves(file.checkpoint(fingerprint, transaction), due)
                        ? self.changes(in: file, fingerprint, table, after: place, transaction)
                        : nil
                })
            {
                return found
            }
            try catchUp([driver])
            due = try stillDue(due)
        }
    }

    private func changes(
        in file: ViewsFile, _ fingerprint: Digest16, _ table: Int, after place: DiffPlace?,
        _ transaction: borrowing ReadTransaction
    ) throws -> ([RowChanges], DiffPlace) {
        let ring = DiffRing(file)
        let now = try ring.place(transaction)
        guard let place, let batches = try ring.batches(after: place, transaction) else {
            return ([.reset], now)
        }
        var found: [RowChanges] = []
        for batch in batches {
            if batch.isReset {
                found.append(.reset)
                continue
            }
            let changes = batch.entries.filter {
                $0.projection == fingerprint.high && Int($0.table) == table
            }.map(\.change)
            if !changes.isEmpty { found.append(.changes(changes)) }
        }
        return (found, now)
    }
}
