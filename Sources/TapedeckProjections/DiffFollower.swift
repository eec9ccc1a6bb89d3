internal import TapedeckLMDB
internal import TapedeckModel

/// Collects the rows that have changed since the last notification, inside the transactions of a
/// read.
final class DiffFollower {
    /// The changes to the table of each followed range; nil if some changes are unknown.
    private(set) var changes: [[RowChange]]?
    /// The frozen keys of each projection.
    private(set) var frozen: [Digest16: [FrozenKey]] = [:]
    private let tables: [(projection: Digest16, table: Int)]
    private var places: [Digest16: DiffPlace] = [:]
    private var next: [Digest16: DiffPlace] = [:]
    /// The checkpoint at which the frozen keys were last read.
    private var reached: [Digest16: ProjectionCheckpoint] = [:]

    /// The maximum number of frozen keys read per projection.
    static let frozenMax = 1_000

    init(_ ranges: [RowRange]) {
        tables = ranges.map { (ProjectionDriver.fingerprint(of: $0.projection), $0.table) }
    }

    /// Starts or restarts a read.
    func begin() {
        changes = tables.map { _ in [] }
        next = [:]
    }

    /// Collects the changes that a file contains for projections at the given checkpoints.
    func take(
        _ file: ViewsFile, _ projections: [Digest16: ProjectionCheckpoint],
        _ views: borrowing ReadTransaction
    ) throws {
        let ring = DiffRing(file)
        let now = try ring.place(views)
        let before = projections.keys.compactMap { places[$0] }
        for (projection, checkpoint) in projections {
            next[projection] = now
            // A commit that freezes a key changes no row, so the ring has no entry for it.
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

    /// Marks the collected changes as delivered.
    func advance() { places = next }
}
