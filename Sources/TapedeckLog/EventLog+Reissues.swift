internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

/// # Reissued events
///
/// If events lose their ids because a history forked (`EventLog+Heal`), each of them is written
/// again under another id. The new event is called a *reissue*. The original history can come back
/// if a device that does not know of the loss pushes it to a server that was wiped. Two histories
/// that fork at different events can also both contain reissues of the same event. Only one of
/// several events with the same content is used: the original event if it is recorded, otherwise
/// the reissue with the lowest id. The other reissues are refused. The choice depends only on the
/// events, so all devices with the same events agree.
extension EventLog {
    /// Finishes a write by writing the rows of the origins and the status of affected reissues.
    ///
    /// - Parameter others: Additional events whose reissues are affected.
    func finish(
        _ writer: consuming RecordWriter, settling others: Set<EventID> = [],
        _ transaction: borrowing WriteTransaction
    ) throws -> LogState {
        let reissued = others.isEmpty ? writer.reissued : writer.reissued.union(others)
        let after = try writer.finish(transaction)
        try settle(reissuesOf: reissued, after, transaction)
        return after
    }

    /// Decides again which reissues of the given events are refused, and records the decision.
    ///
    /// - Parameters:
    ///   - sources: The ids of the original events.
    ///   - state: The state at the end of the transaction.
    func settle(
        reissuesOf sources: Set<EventID>, _ state: LogState,
        _ transaction: borrowing WriteTransaction
    ) throws {
        guard !sources.isEmpty else { return }
        var writer = ReceiptWriter(tables)
        for source in sources.sorted() {
            for reissue in try Reissue.all(of: source, transaction, tables) {
                let record = try self.record(at: reissue.position, transaction)
                let standing = try self.standing(of: record, state, transaction)
                try writer.settle(
                    standing, of: record.stamp, at: reissue.position, transaction)
            }
        }
        try writer.finish(transaction)
    }

    /// Returns the effective stamp and status of a recorded event, based on everything that is
    /// recorded.
    func standing(
        of record: RecordView, _ state: LogState,
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> Standing {
        var standing = Standing(of: record.stamp)
        if state.isForked(record) {
            standing.isRefused = true
            return standing
        }
        let id = try state.id(of: record)
        standing = Standing(
            of: record.stamp,
            try ReceiptReader.receipts(of: id, ordinal: record.origin, transaction, tables))
        if record.flags.contains(.reissued),
            try isSaidElsewhere(record, as: id, state, transaction)
        {
            standing.isRefused = true
        }
        return standing
    }

    /// Returns whether a reissue is refused because another event with the same content is used
    /// instead.
    private func isSaidElsewhere(
        _ record: RecordView, as id: EventID, _ state: LogState,
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> Bool {
        guard let source = record.blocks?.reissuedFrom else { return false }
        let content = try content(of: record, state)
        if let position = try position(of: source, in: state, transaction) {
            let held = try self.record(at: position, transaction)
            if !held.isStub, try self.content(of: held, state) == content { return true }
        }
        return try Reissue.all(of: source, transaction, tables).contains { other in
            guard other.content == content, other.position != record.position else { return false }
            return try state.id(of: try self.record(at: other.position, transaction)) < id
        }
    }

    /// Returns the digest of an event's content, including the id of the original event.
    func content(of record: RecordView, _ state: LogState) throws -> Digest16 {
        var canonical: [UInt8] = []
        guard state.appendCanonical(record, to: &canonical),
            let content = canonical.withUnsafeBytes({ try? CanonicalView($0).content })
        else {
            throw LogError.damagedRecord(record.position, "its contents do not match its header")
        }
        return content
    }
}

/// A row of `meta` with the position of a reissue.
///
/// The key consists of the original id (origin, sequence number) and the position. The value is the
/// digest of the content.
struct Reissue: Hashable {
    var source: EventID
    var position: UInt64
    var content: Digest16

    static let allKeys: [UInt8] = Array("w".utf8)
    private static let keyCount = 33

    var key: [UInt8] {
        var key = Reissue.keys(of: source)
        key.appendBigEndian(position)
        return key
    }

    var value: [UInt8] {
        var value: [UInt8] = []
        value.appendBigEndian(content.high)
        value.appendBigEndian(content.low)
        return value
    }

    init(of source: EventID, at position: UInt64, content: Digest16) {
        self.source = source
        self.position = position
        self.content = content
    }

    private init?(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        var name = ByteReader(UnsafeRawBufferPointer(rebasing: key.dropFirst()))
        var reader = ByteReader(value)
        guard key.count == Reissue.keyCount, let originHigh = name.bigEndian(UInt64.self),
            let originLow = name.bigEndian(UInt64.self), let sequence = name.bigEndian(UInt64.self),
            let position = name.bigEndian(UInt64.self), let high = reader.bigEndian(UInt64.self),
            let low = reader.bigEndian(UInt64.self), reader.isAtEnd,
            max(sequence, position) <= StoredNumber.max
        else { return nil }
        self.init(
            of: EventID(
                origin: OriginID(high: originHigh, low: originLow), sequence: sequence),
            at: position, content: Digest16(high: high, low: low))
    }

    private static func keys(of source: EventID) -> [UInt8] {
        var key = allKeys
        key.appendBigEndian(source.origin.high)
        key.appendBigEndian(source.origin.low)
        key.appendBigEndian(source.sequence)
        return key
    }

    /// Returns the reissues of an event, in log order.
    static func all(
        of source: EventID, _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> [Reissue] {
        let prefix = keys(of: source)
        var found: [Reissue] = []
        let cursor = try transaction.cursor(tables.meta)
        var entry = try cursor.seek(prefix)
        while let row = entry, row.key.starts(with: prefix) {
            found.append(try read(row))
            entry = try cursor.next()
        }
        return found
    }

    static func remove(
        of source: EventID, at position: UInt64, _ transaction: borrowing WriteTransaction,
        _ tables: LogTables
    ) throws {
        let row = Reissue(of: source, at: position, content: Digest16(high: 0, low: 0))
        try transaction.delete(tables.meta, row.key)
    }

    /// Returns the origins with reissued events; usually none.
    ///
    /// The cost is a lookup per origin.
    static func origins(
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> Set<OriginID> {
        var found: Set<OriginID> = []
        let cursor = try transaction.cursor(tables.meta)
        var entry = try cursor.seek(allKeys)
        while let row = entry, row.key.starts(with: allKeys) {
            let origin = try read(row).source.origin
            found.insert(origin)
            entry = try cursor.seek(keys(of: EventID(origin: origin, sequence: .max)))
        }
        return found
    }

    private static func read(_ row: Cursor.Entry) throws(LogError) -> Reissue {
        guard let value = SealedValue.open(row.value, key: row.key),
            let reissue = Reissue(row.key, value)
        else { throw LogError.damagedRow(Array(row.key)) }
        return reissue
    }
}
