internal import TapedeckLMDB

/// The ring of diffs of a views file: what the last commits changed, for observers in any process.
struct DiffRing {
    private let file: ViewsFile

    init(_ file: ViewsFile) { self.file = file }

    func append(_ batch: DiffBatch, _ views: borrowing WriteTransaction) throws {
        guard batch.isReset || !batch.entries.isEmpty else { return }
        let last = try last(views)
        do {
            let cursor = try views.cursor(file.diffs)
            try cursor.append(integer: last + 1, batch.encoded())
        }
        let cursor = try views.cursor(file.diffs)
        while let oldest = try cursor.first(),
            oldest.key.loadUnaligned(as: UInt64.self) + DiffBatch.batchesMax <= last + 1
        {
            try cursor.delete()
        }
    }

    func appendReset(_ views: borrowing WriteTransaction) throws {
        var batch = DiffBatch()
        batch.isReset = true
        try append(batch, views)
    }

    /// How far somebody has come who has read all that is here.
    func place(_ views: borrowing some Readable & ~Copyable) throws -> DiffPlace {
        DiffPlace(file: file.number, opened: file.opened, batch: try last(views))
    }

    /// The batches behind a place; nil where it is in another file, or some of them are no longer kept.
    func batches(
        after place: DiffPlace, _ views: borrowing some Readable & ~Copyable
    ) throws -> [DiffBatch]? {
        guard place.isIn(file) else { return nil }
        return try batches(after: place.batch, views)?.map(\.batch)
    }

    /// The number of the last batch; 0 where there is none yet.
    func last(_ views: borrowing some Readable & ~Copyable) throws -> UInt64 {
        try views.cursor(file.diffs).last().map { $0.key.loadUnaligned(as: UInt64.self) } ?? 0
    }

    /// The batches behind one, with their numbers; nil where some of them are no longer kept.
    func batches(
        after: UInt64, _ views: borrowing some Readable & ~Copyable
    ) throws -> [(number: UInt64, batch: DiffBatch)]? {
        let last = try last(views)
        guard last > after else { return last == after ? [] : nil }
        let cursor = try views.cursor(file.diffs)
        var found: [(UInt64, DiffBatch)] = []
        var entry = try cursor.seek(integer: after + 1)
        while let read = entry {
            let number = read.key.loadUnaligned(as: UInt64.self)
            if found.isEmpty, number != after + 1 { return nil }
            guard let batch = DiffBatch(decoding: read.value) else { return nil }
            found.append((number, batch))
            entry = try cursor.next()
        }
        return found
    }
}

/// How far an observer has come: in which file, and behind which batch.
///
/// Another file may come to have the number of one that was: where the log was put back.
struct DiffPlace: Equatable {
    fileprivate let file: UInt64
    fileprivate let opened: OpenViews.Place
    let batch: UInt64

    func isIn(_ file: ViewsFile) -> Bool { self.file == file.number && opened == file.opened }
}
