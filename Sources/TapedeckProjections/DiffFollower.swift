internal import TapedeckLMDB
internal import TapedeckModel

/// What the files tell of changed rows since somebody last asked, in the transactions of a read.
final class DiffFollower {
    /// The changes of the ranges that are followed; nil where not all of them are known.
    private(set) var changes: [[RowChange]]?
    private let tables: [(projection: Digest16, table: Int)]
    private var places: [Digest16: DiffPlace] = [:]
    private var next: [Digest16: DiffPlace] = [:]

    init(_ ranges: [RowRange]) {
        tables = ranges.map { (ProjectionDriver.fingerprint(of: $0.projection), $0.table) }
    }

    /// Begins a read, perhaps once more.
    func begin() {
        changes = tables.map { _ in [] }
        next = [:]
    }

    /// Takes what a file tells of the projections that it serves.
    func take(
        _ file: ViewsFile, _ projections: [Digest16], _ views: borrowing ReadTransaction
    ) throws {
        let ring = DiffRing(file)
        let now = try ring.place(views)
        let before = projections.compactMap { places[$0] }
        for projection in projections { next[projection] = now }
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
