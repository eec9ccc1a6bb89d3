internal import TapedeckLMDB
internal import TapedeckModel

/// What the files tell of changed rows since somebody last asked, in the transactions of a read.
final class DiffFollower {
    /// The changes of the ranges that are followed; nil where not all of them are known.
    private(set) var changes: [[RowChange]]?
    /// The keys that are frozen, of each projection.
    private(set) var frozen: [Digest16: [FrozenKey]] = [:]
    private let tables: [(projection: Digest16, table: Int)]
    private var places: [Digest16: DiffPlace] = [:]
    private var next: [Digest16: DiffPlace] = [:]
    /// As of when it was looked which keys are frozen.
    private var reached: [Digest16: ProjectionCheckpoint] = [:]

    /// So many frozen keys of a projection are looked at.
    static let frozenMax = 1_000

    init(_ ranges: [RowRange]) {
        tables = ranges.map { (ProjectionDriver.fingerprint(of: $0.projection), $0.table) }
    }

    /// Begins a read, perhaps once more.
    func begin() {
        changes = tables.map { _ in [] }
        next = [:]
    }

    /// Takes what a file tells of the projections that it serves, as of what each has reached.
    func take(
        _ file: ViewsFile, _ projections: [Digest16: ProjectionCheckpoint],
        _ views: borrowing ReadTransaction
    ) throws {
        let ring = DiffRing(file)
        let now = try ring.place(views)
        let before = projections.keys.compactMap { places[$0] }
        for (projection, checkpoint) in projections {
            next[projection] = now
            // A commit that freezes a key changes no row, so the ring has nothing of it.
            guard reached[projection] != checkpoint, let tables = file.tables[projection] else {
                continue
            }
            frozen[projection] = try tables.frozenKeys(limit: DiffFollower.frozenMax, views)
            reached[projection] = checkpoint
        }
        guard before.count == projections.count, before.allSatisfy({ $0.isIn(file) }),
            let since = before.min(by: { $0.batch < $1.batch }),
            let batches = try ring.batches(after: since, views),
            batches.allSatisfy({ !$0.isReset })
        else {
            changes = nil
            return
        }
        for batch in batches {
            for entry in batch.entries {
                for (index, followed) in tables.enumerated()
                where followed.projection.high == entry.projection
                    && followed.table == Int(entry.table)
                { changes?[index].append(entry.change) }
            }
        }
    }

    /// Says that what was taken has been told.
    func advance() { places = next }
}
