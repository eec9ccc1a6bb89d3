package import TapedeckLog
@_spi(Core) package import TapedeckModel

/// Which events go to which projections, in terms of one log's small numbers.
package struct Routing {
    /// The origins by their small numbers.
    package let origins: [OriginID]
    package let drivers: [ProjectionDriver]
    /// For each driver, type number → its place in the driver's list, or -1.
    package let typeIndexes: [[Int16]]
    /// For each type number, a bit for each driver that folds it; those from the 64th on share the last.
    private let driverBits: [UInt64]
    /// For each type number, the kinds of tags that some driver routes it by, with the slash.
    private let prefixes: [TagPrefix]
    /// Where those of each type stand in `prefixes`.
    private let prefixRanges: [Range<Int>]

    package init(_ drivers: [ProjectionDriver], _ log: EventLog) throws {
        let (origins, types) = try log.dictionaries()
        self.origins = origins
        self.drivers = drivers
        typeIndexes = drivers.map { driver in
            types.map { type in Int16(driver.eventTypes.firstIndex(of: type) ?? -1) }
        }
        let indexes = typeIndexes
        driverBits = types.indices.map { type in
            indexes.indices.reduce(0) { bits, driver in
                indexes[driver][type] < 0 ? bits : bits | Routing.bit(driver)
            }
        }
        var prefixes: [TagPrefix] = []
        var prefixRanges: [Range<Int>] = []
        for type in types.indices {
            let start = prefixes.count
            for (driver, index) in zip(drivers, typeIndexes) where index[type] >= 0 {
                let prefix = TagPrefix(driver.tagPrefix)
                if !prefixes[start...].contains(prefix) { prefixes.append(prefix) }
            }
            prefixRanges.append(start..<prefixes.count)
        }
        self.prefixes = prefixes
        self.prefixRanges = prefixRanges
    }

    /// Makes sure that the small numbers of a record are places in the lists of this routing.
    ///
    /// They are where the log is intact: it knows a type and an origin before it has an event of them. Throws `LogError`
    /// with `.damaged`.
    @inline(__always)
    func check(_ record: RecordView) throws(LogError) {
        guard Int(record.type) < driverBits.count, Int(record.origin) < origins.count else {
            throw LogError.damagedRecord(
                record.position,
                "it names origin \(record.origin) and type \(record.type), which are unknown")
        }
    }

    /// Whether some driver folds events of a record's type.
    @inline(__always)
    func concerns(_ record: RecordView) -> Bool { driverBits[Int(record.type)] != 0 }

    /// Calls `body` with each tag of a record that is a key of some driver.
    @inline(__always)
    package func forEachKey(of record: RecordView, _ body: (UnsafeRawBufferPointer) -> Void) {
        let wanted = prefixRanges[Int(record.type)]
        guard !wanted.isEmpty else { return }
        record.forEachTag { tag in
            for index in wanted where prefixes[index].begins(tag) {
                body(tag)
                return
            }
        }
    }

    /// The drivers that fold any of some events; most keys have events for few of many.
    @inline(__always)
    func drivers(of events: borrowing [EventReference]) -> DriverSet {
        var bits: UInt64 = 0
        for index in events.indices { bits |= driverBits[Int(events[index].record.type)] }
        return DriverSet(bits: bits)
    }

    /// Some of the drivers.
    struct DriverSet {
        fileprivate let bits: UInt64

        @inline(__always)
        func contains(_ driver: Int) -> Bool { bits & Routing.bit(driver) != 0 }
    }

    @inline(__always)
    private static func bit(_ driver: Int) -> UInt64 { 1 << UInt64(min(driver, 63)) }

    @inline(__always)
    package static func begins(_ tag: UnsafeRawBufferPointer, with prefix: [UInt8]) -> Bool {
        guard tag.count > prefix.count else { return false }
        for index in 0..<prefix.count where tag[index] != prefix[index] { return false }
        return true
    }
}

/// The beginning of a projection's tags; most are compared as one word.
private struct TagPrefix: Equatable {
    private let word: UInt64
    private let mask: UInt64
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var word: UInt64 = 0
        for byte in bytes.prefix(8).reversed() { word = word << 8 | UInt64(byte) }
        self.word = word
        mask = bytes.count >= 8 ? .max : 1 << (UInt64(bytes.count) * 8) - 1
    }

    @inline(__always)
    func begins(_ tag: UnsafeRawBufferPointer) -> Bool {
        guard tag.count > 8 else { return Routing.begins(tag, with: bytes) }
        guard UInt64(littleEndian: tag.loadUnaligned(as: UInt64.self)) & mask == word else {
            return false
        }
        return bytes.count <= 8 || Routing.begins(tag, with: bytes)
    }
}
