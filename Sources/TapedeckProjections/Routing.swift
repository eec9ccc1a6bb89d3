package import TapedeckLog
@_spi(Core) package import TapedeckModel

/// Which events go to which projections, in terms of one log's small numbers.
package struct Routing {
    /// The origins by their small numbers.
    package let origins: [OriginID]
    package let drivers: [ProjectionDriver]
    /// For each driver, type number → its place in the driver's list, or -1.
    package let typeIndexes: [[Int16]]
    /// For each type number, the kinds of tags that some driver routes it by, with the slash.
    package let prefixes: [[[UInt8]]]

    package init(_ drivers: [ProjectionDriver], _ log: EventLog) throws {
        let (origins, types) = try log.dictionaries()
        self.origins = origins
        self.drivers = drivers
        typeIndexes = drivers.map { driver in
            types.map { type in Int16(driver.eventTypes.firstIndex(of: type) ?? -1) }
        }
        var prefixes = [[[UInt8]]](repeating: [], count: types.count)
        for (driver, index) in zip(drivers, typeIndexes) {
            for (type, place) in index.enumerated() where place >= 0 {
                if !prefixes[type].contains(driver.tagPrefix) {
                    prefixes[type].append(driver.tagPrefix)
                }
            }
        }
        self.prefixes = prefixes
    }

    /// Calls `body` with each tag of a record that is a key of some driver.
    @inline(__always)
    package func forEachKey(of record: RecordView, _ body: (UnsafeRawBufferPointer) -> Void) {
        let wanted = prefixes[Int(record.type)]
        guard !wanted.isEmpty else { return }
        record.forEachTag { tag in
            for prefix in wanted where Routing.begins(tag, with: prefix) {
                body(tag)
                return
            }
        }
    }

    @inline(__always)
    package static func begins(_ tag: UnsafeRawBufferPointer, with prefix: [UInt8]) -> Bool {
        guard tag.count > prefix.count else { return false }
        for index in 0..<prefix.count where tag[index] != prefix[index] { return false }
        return true
    }
}
