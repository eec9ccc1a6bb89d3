package import TapedeckLog
@_spi(Core) package import TapedeckModel

/// Maps events to projections, using the numbers of origins and types in one log.
package struct Routing {
    /// The origins, indexed by number.
    package let origins: [OriginID]
    package let drivers: [ProjectionDriver]
    /// For each driver and type number, the index of the type in the driver's event types, or -1.
    package let typeIndexes: [[Int16]]
    /// For each type number, one bit per driver that folds the type; drivers from the 64th on share
    /// the last bit.
    private let driverBits: [UInt64]
    /// The tag prefixes, such as `video/`, by which drivers route events, grouped by type number.
    private let prefixes: [TagPrefix]
    /// For each type number, its range in `prefixes`.
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

    /// Checks that the type and origin numbers of a record are known to this routing.
    ///
    /// In an intact log, the numbers are always known, because types and origins are registered
    /// before their first event. Throws `LogError` with `.damaged` if a number is unknown.
    @inline(__always)
    func check(_ record: RecordView) throws(LogError) {
        guard Int(record.type) < driverBits.count, Int(record.origin) < origins.count else {
            throw LogError.damagedRecord(
                record.position,
                "its origin \(record.origin) or its type \(record.type) is unknown")
        }
    }

    /// Returns whether any driver folds events of a record's type.
    @inline(__always)
    func concerns(_ record: RecordView) -> Bool { driverBits[Int(record.type)] != 0 }

    /// Calls `body` with each of a record's tags that is a key of at least one driver.
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

    /// Returns the drivers that fold any of the events; most keys have only a few drivers.
    @inline(__always)
    func drivers(of events: borrowing [EventReference]) -> DriverSet {
        var bits: UInt64 = 0
        for index in events.indices { bits |= driverBits[Int(events[index].record.type)] }
        return DriverSet(bits: bits)
    }

    /// A set of drivers.
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

/// The prefix of a projection's tags; most prefixes fit in one machine word and are compared as
/// such.
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
