internal import TapedeckLMDB
internal import TapedeckModel

/// The diff ring of a views file, which contains the changes made by the most recent commits, for
/// observers in any process.
struct DiffRing {
    private let file: ViewsFile

    init(_ file: ViewsFile) { self.file = file }

    func append(_ batch: DiffBatch, _ views: borrowing WriteTransaction) throws {
        guard batch.isReset || !batch.entries.isEmpty else { return }
        let last = try last(views)
        guard last <= StoredNumber.max else {
            throw LMDBError(
                .damaged, path: file.environment.path,
                detail: "the number of its last change is impossible")
        }
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

    /// Returns the position after the last batch.
    func place(_ views: borrowing some Readable & ~Copyable) throws -> DiffPlace {
        DiffPlace(file: file.number, opened: file.opened, batch: try last(views))
    }

    /// Returns the batches after a position; nil if the position is in another file or if some of
    /// the batches have been dropped.
    func batches(
        after place: DiffPlace, _ views: borrowing some Readable & ~Copyable
    ) throws -> [DiffBatch]? {
        guard place.isIn(file) else { return nil }
        return try batches(after: place.batch, views)?.map(\.batch)
    }

    /// Returns the number of the last batch; 0 if there is none yet.
    func last(_ views: borrowing some Readable & ~Copyable) throws -> UInt64 {
        try views.cursor(file.diffs).last().map { $0.key.loadUnaligned(as: UInt64.self) } ?? 0
    }

    /// Returns the batches after `after` with their numbers; nil if some of them have been dropped.
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

/// The position of an observer: the file, and the last batch that the observer has read.
///
/// A file's number alone does not identify the file, because after the log has been restored, a new
/// file may reuse the number.
struct DiffPlace: Equatable {
    fileprivate let file: UInt64
    fileprivate let opened: FileIdentity
    let batch: UInt64

    func isIn(_ file: ViewsFile) -> Bool { self.file == file.number && opened == file.opened }
}
