package import TapedeckLog
package import TapedeckModel
package import TapedeckSyncProtocol

/// What a device remembers of a server: a row of the log, written together with what it speaks of.
///
/// It goes neither into exports nor into digests, and losing it costs a second reading only.
package struct Upstream: Hashable, Sendable {
    /// How the user names the server: its address.
    package var name: String
    /// How far its log has been read.
    package var cursor: SyncCursor?
    /// The last sequence of each origin that it has, of those that this device has pushed.
    package var acknowledged: [OriginID: UInt64] = [:]
    /// The receipt with the greatest position, of the cursor's lineage, that this device has of pushing or
    /// had when the lineage was met.
    package var lastReceipt: Receipt?
    /// Lineages that the server has left, the latest last; see `SyncSession.shaken`.
    package var formerLineages: [LineageID] = []
    /// How far the receipts of other lineages have been pushed; nil when all have.
    package var seedPlace: [UInt8]?
    /// Where the server put the last receipt of another lineage, until that has been read there: a server that
    /// lost a part of its log has to be given them again.
    package var lastSeed: SeedMark?
    /// Up to which round of receipts from elsewhere that holds; see `ReceiptRounds`.
    package var seedRound: UInt64 = 0
    /// When it answered last, in Unix milliseconds; 0 for never.
    package var contactedAt: UInt64 = 0
    /// Up to which position of the own log everything had been delivered when all was done last.
    package var settledAt: UInt64 = 0
    /// Why it is waited for, if it is.
    package var wait: SyncWait?

    /// A place in a server's log that a receipt of another lineage was given.
    package struct SeedMark: Hashable, Sendable {
        var position: UInt64
        var receivedAt: Stamp
    }

    package init(name: String) { self.name = name }

    /// The most lineages that are remembered.
    private static let formerLineagesMax = 64

    /// Begins to read a lineage from its beginning.
    ///
    /// One that the server had left stays among these until the server was asked to leave it again.
    mutating func adopt(_ lineage: LineageID) {
        if let former = cursor?.lineage {
            formerLineages.removeAll { $0 == former }
            formerLineages = formerLineages.suffix(Upstream.formerLineagesMax - 1) + [former]
        }
        cursor = SyncCursor(lineage)
        seedPlace = []
        lastSeed = nil
        acknowledged = [:]
        lastReceipt = nil
    }

    /// Begins to push the receipts of other lineages once more.
    mutating func seedAgain() {
        seedPlace = []
        lastSeed = nil
    }

    private static let version: UInt8 = 2
    static let prefix = "server/"

    /// The row that holds it.
    package var row: SyncRow {
        var bytes: [UInt8] = [Upstream.version]
        bytes.append(cursor == nil ? 0 : 1)
        if let cursor {
            bytes.appendBigEndian(cursor.lineage.high)
            bytes.appendBigEndian(cursor.lineage.low)
            bytes.appendLittleEndian(cursor.position)
            bytes.append(contentsOf: cursor.digest.bytes)
        }
        bytes.appendVarint(UInt64(acknowledged.count))
        for (origin, sequence) in acknowledged.sorted(by: { $0.key < $1.key }) {
            bytes.append(EventID(origin: origin, sequence: sequence))
        }
        bytes.append(seedPlace == nil ? 0 : 1)
        bytes.appendPrefixed(seedPlace ?? [])
        for value in [seedRound, contactedAt, settledAt] { bytes.appendLittleEndian(value) }
        bytes.append(lastSeed == nil ? 0 : 1)
        if let lastSeed {
            bytes.appendLittleEndian(lastSeed.position)
            bytes.appendLittleEndian(lastSeed.receivedAt.rawValue)
        }
        bytes.append(lastReceipt == nil ? 0 : 1)
        if let lastReceipt { bytes.append(lastReceipt) }
        bytes.appendVarint(UInt64(formerLineages.count))
        for lineage in formerLineages {
            bytes.appendBigEndian(lineage.high)
            bytes.appendBigEndian(lineage.low)
        }
        bytes.append(wait == nil ? 0 : 1)
        if let wait {
            bytes.appendPrefixed(wait.reason.rawValue)
            bytes.appendPrefixed(wait.message)
            bytes.appendLittleEndian(wait.until)
        }
        return SyncRow(Upstream.prefix + name, bytes)
    }

    /// Reads a row; nil where it is of another form, which means that the server is read anew.
    package init?(_ row: SyncRow) {
        guard row.name.hasPrefix(Upstream.prefix), let value = row.value else { return nil }
        name = String(row.name.dropFirst(Upstream.prefix.count))
        let isRead = value.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return read(&reader)
        }
        guard isRead else { return nil }
    }

    private mutating func read(_ reader: inout ByteReader) -> Bool {
        guard reader.littleEndian(UInt8.self) == Upstream.version,
            let hasCursor = reader.littleEndian(UInt8.self)
        else { return false }
        if hasCursor == 1 {
            guard let high = reader.bigEndian(UInt64.self), let low = reader.bigEndian(UInt64.self),
                let position = reader.littleEndian(UInt64.self),
                let digest = reader.slice(SyncDigest.count).flatMap({ SyncDigest($0) })
            else { return false }
            cursor = SyncCursor(
                LineageID(high: high, low: low), position: position, digest: digest)
        }
        guard let count = reader.varint() else { return false }
        for _ in 0..<count {
            guard let last = reader.eventID() else { return false }
            acknowledged[last.origin] = last.sequence
        }
        guard let hasSeed = reader.littleEndian(UInt8.self), let place = reader.prefixed(),
            let round = reader.littleEndian(UInt64.self),
            let contacted = reader.littleEndian(UInt64.self),
            let settled = reader.littleEndian(UInt64.self),
            let hasSeedMark = reader.littleEndian(UInt8.self)
        else { return false }
        if hasSeedMark == 1 {
            guard let position = reader.littleEndian(UInt64.self),
                let stamp = reader.littleEndian(UInt64.self)
            else { return false }
            lastSeed = SeedMark(position: position, receivedAt: Stamp(rawValue: stamp))
        }
        guard let hasReceipt = reader.littleEndian(UInt8.self) else { return false }
        if hasReceipt == 1 {
            guard let receipt = reader.receipt() else { return false }
            lastReceipt = receipt
        }
        guard let lineages = reader.varint() else { return false }
        for _ in 0..<lineages {
            guard let high = reader.bigEndian(UInt64.self), let low = reader.bigEndian(UInt64.self)
            else { return false }
            formerLineages.append(LineageID(high: high, low: low))
        }
        guard let hasWait = reader.littleEndian(UInt8.self) else { return false }
        seedPlace = hasSeed == 1 ? Array(place) : nil
        (seedRound, contactedAt, settledAt) = (round, contacted, settled)
        if hasWait == 1 {
            guard let reason = reader.prefixedString(), let message = reader.prefixedString(),
                let until = reader.littleEndian(UInt64.self)
            else { return false }
            wait = SyncWait(reason: ErrorCode(rawValue: reason), message: message, until: until)
        }
        return reader.isAtEnd
    }

    /// Every server that a store has spoken with.
    @available(*, noasync)
    package static func all(in log: EventLog) throws(LogError) -> [Upstream] {
        try log.syncRows(prefix: prefix).compactMap { Upstream($0) }
    }

    /// Those that have answered; all, where none has.
    @available(*, noasync)
    static func counted(in log: EventLog) throws(LogError) -> [Upstream] {
        let all = try all(in: log)
        let answered = all.filter { $0.cursor != nil }
        return answered.isEmpty ? all : answered
    }

    /// What a store remembers of a server; a fresh start where it remembers nothing.
    @available(*, noasync)
    package static func named(_ name: String, in log: EventLog) throws(LogError) -> Upstream {
        guard let value = try log.syncRow(prefix + name),
            let read = Upstream(SyncRow(prefix + name, value))
        else { return Upstream(name: name) }
        return read
    }
}
