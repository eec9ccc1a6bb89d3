package import TapedeckLog
package import TapedeckModel
package import TapedeckSyncProtocol

/// This device's record of a server: a row of the log, written together with the events that it
/// refers to.
///
/// The row is neither exported nor included in digests. If the row is lost, the server's log is
/// read again.
package struct Upstream: Hashable, Sendable {
    /// The name of the server, which is its address.
    package var name: String
    /// The position up to which the server's log has been read.
    package var cursor: SyncCursor?
    /// The last sequence number that the server has, for each origin that this device pushes.
    package var acknowledged: [OriginID: UInt64] = [:]
    /// The receipt with the highest position in the current lineage, either from a push or already
    /// present when the lineage was adopted.
    package var lastReceipt: Receipt?
    /// The previous lineages of the server, oldest first; see `SyncSession.shaken`.
    package var formerLineages: [LineageID] = []
    /// The position up to which receipts of other lineages have been pushed; nil if all have been
    /// pushed.
    package var seedPlace: [UInt8]?
    /// The position that the server gave to the last pushed receipt of another lineage; nil after
    /// this device has read that position.
    ///
    /// If the server has lost the entry at that position, the receipts must be pushed again.
    package var lastSeed: SeedMark?
    /// The number of the last round of receipts that was pushed; see `ReceiptRounds`.
    package var seedRound: UInt64 = 0
    /// The time of the last response, in milliseconds since 1970; 0 if there was none.
    package var contactedAt: UInt64 = 0
    /// The head of this store's log at the last time at which everything was delivered.
    package var settledAt: UInt64 = 0
    /// The current wait for the server; nil if there is none.
    package var wait: SyncWait?

    /// The position and time that a server gave to a receipt of another lineage.
    package struct SeedMark: Hashable, Sendable {
        var position: UInt64
        var receivedAt: Stamp
    }

    package init(name: String) { self.name = name }

    /// The maximum number of stored lineages.
    private static let formerLineagesMax = 64

    /// Starts reading a lineage from the beginning.
    ///
    /// If the server has returned to a former lineage, that lineage stays in `formerLineages` until
    /// the server has been asked to begin a new one.
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

    /// Starts pushing the receipts of other lineages again.
    mutating func seedAgain() {
        seedPlace = []
        lastSeed = nil
    }

    private static let version: UInt8 = 2
    static let prefix = "server/"

    /// The row that stores the state.
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
        bytes.append(wait.map { $0.isAsked ? 2 : 1 } ?? 0)
        if let wait {
            bytes.appendPrefixed(wait.reason.rawValue)
            bytes.appendPrefixed(wait.message)
            bytes.appendLittleEndian(wait.until)
        }
        return SyncRow(Upstream.prefix + name, bytes)
    }

    /// Reads a row; returns nil if it has a different format, in which case the server's log is
    /// read again.
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
                let position = reader.number(),
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
            guard let position = reader.number(),
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
        if hasWait > 0 {
            guard let reason = reader.prefixedString(), let message = reader.prefixedString(),
                let until = reader.littleEndian(UInt64.self)
            else { return false }
            wait = SyncWait(
                reason: ErrorCode(rawValue: reason), message: message, until: until,
                isAsked: hasWait == 2)
        }
        return reader.isAtEnd
    }

    /// Returns every server that the store has contacted.
    @available(*, noasync)
    package static func all(in log: EventLog) throws(LogError) -> [Upstream] {
        try log.syncRows(prefix: prefix).compactMap { Upstream($0) }
    }

    /// Returns the servers that events are delivered to: the servers that have responded, or all
    /// servers if none has responded.
    ///
    /// A server that has never responded may be a mistyped address.
    @available(*, noasync)
    static func counted(in log: EventLog) throws(LogError) -> [Upstream] {
        let all = try all(in: log)
        let answered = all.filter { $0.cursor != nil }
        return answered.isEmpty ? all : answered
    }

    /// Returns whether events are delivered to the server; see `counted(in:)`.
    @available(*, noasync)
    func isCounted(in log: EventLog) throws(LogError) -> Bool {
        if cursor != nil { return true }
        return try Upstream.all(in: log).allSatisfy { $0.cursor == nil }
    }

    /// Returns the stored state of a server, or a new state if none is stored.
    @available(*, noasync)
    package static func named(_ name: String, in log: EventLog) throws(LogError) -> Upstream {
        guard let value = try log.syncRow(prefix + name),
            let read = Upstream(SyncRow(prefix + name, value))
        else { return Upstream(name: name) }
        return read
    }
}
