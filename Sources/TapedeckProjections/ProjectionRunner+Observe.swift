internal import Foundation
internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

extension ProjectionRunner {
    /// The changes of one row table as they are committed, by this process or any other.
    ///
    /// The stream begins with `.reset`: read the table, then follow. It never asks the table again; each
    /// commit of the fold says which rows it changed. An observer that falls behind further than
    /// `DiffBatch.batchesMax` commits gets `.reset` again. It ends when its task is cancelled or the
    /// store is closed.
    public func observe(
        _ projection: some Projection, table: Int = 0
    ) -> AsyncStream<RowChanges> {
        let fingerprint = ProjectionDriver.fingerprint(of: projection)
        return AsyncStream(bufferingPolicy: .unbounded) { stream in
            let task = Task {
                var place: (file: UInt64, number: UInt64)?
                while !Task.isCancelled {
                    do {
                        let (changes, next) = try await self.changes(
                            fingerprint, table: table, after: place)
                        place = next
                        for change in changes { stream.yield(change) }
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
        _ fingerprint: Digest16, table: Int, after place: (file: UInt64, number: UInt64)?
    ) async throws -> ([RowChanges], (file: UInt64, number: UInt64)) {
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
        _ fingerprint: Digest16, table: Int, after place: (file: UInt64, number: UInt64)?
    ) throws -> ([RowChanges], (file: UInt64, number: UInt64)) {
        guard let driver = drivers.first(where: { $0.fingerprint == fingerprint }) else {
            throw ProjectionError(.notFound, "this store does not keep that projection")
        }
        if try !isUpToDate([driver]) { try catchUp([driver]) }
        guard let file = files.withLock({ $0[fingerprint] }) else {
            throw ProjectionError(.internalError, "\(driver.name) has no file")
        }
        return try file.environment.read { transaction in
            let ring = DiffRing(file)
            let last = try ring.last(transaction)
            guard let place, place.file == file.number,
                let batches = try ring.batches(after: place.number, transaction)
            else { return ([.reset], (file.number, last)) }
            var found: [RowChanges] = []
            for (_, batch) in batches {
                if batch.isReset {
                    found.append(.reset)
                    continue
                }
                let changes = batch.entries.filter {
                    $0.projection == fingerprint.high && Int($0.table) == table
                }.map(\.change)
                if !changes.isEmpty { found.append(.changes(changes)) }
            }
            return (found, (file.number, last))
        }
    }
}
