internal import TapedeckModel
internal import TapedeckProjections

/// A remote's confirmation of a toggle that set a mark: the broadcast that carries the mark, and
/// the version of the confirmation.
struct DeliveredMark: Equatable {
    static let prefix: [UInt8] = [UInt8(ascii: "k")]
    private static let versions: [UInt8] = [UInt8(ascii: "d")]

    let broadcast: [UInt8]
    let version: UInt64

    static func name(of intent: [UInt8]) -> RowKey { RowKey(prefix + intent) }

    /// Adds a confirmation to the encoded confirmations of a toggle.
    ///
    /// Only the lowest version for each broadcast is kept, so the order of arrival does not matter.
    static func adding(_ mark: DeliveredMark, to bytes: [UInt8]?) throws -> [UInt8] {
        var marks = try bytes.map(read) ?? []
        if let index = marks.firstIndex(where: { $0.broadcast == mark.broadcast }) {
            guard mark.version < marks[index].version else { return encoded(marks) }
            marks[index] = mark
        } else {
            marks.append(mark)
            marks.sort { $0.broadcast.lexicographicallyPrecedes($1.broadcast) }
        }
        return encoded(marks)
    }

    /// Adds a version to the confirmed versions of a broadcast.
    static func note(
        _ mark: DeliveredMark, _ key: inout KeyedState<WatchLater.State>
    ) throws {
        let name = RowKey(versions + mark.broadcast)
        var known = try key.item(name).map(readVersions) ?? []
        guard !known.contains(mark.version) else { return }
        known.append(mark.version)
        known.sort()
        var writer = StateWriter()
        writer.add(known) { $0.add($1) }
        key.setItem(name, writer.bytes)
    }

    /// Returns whether a toggle was confirmed on a broadcast at a version.
    ///
    /// If so, this store delivered the mark that the broadcast has at that version.
    static func isOwn(
        _ broadcast: [UInt8], version: UInt64, _ key: borrowing KeyedState<WatchLater.State>
    ) throws -> Bool {
        try key.item(RowKey(versions + broadcast)).map(readVersions)?.contains(version) ?? false
    }

    private static func readVersions(_ bytes: [UInt8]) throws(ModelError) -> [UInt64] {
        try StateReader.read(bytes) { (reader) throws(ModelError) in
            try reader.array { (reader) throws(ModelError) in try reader.uint64() }
        }
    }

    /// Returns whether a remote has withdrawn a toggle's mark after confirming the toggle.
    ///
    /// - Parameter toggle: The text of the toggle's event id.
    static func isTakenBack(
        _ toggle: [UInt8], _ key: borrowing KeyedState<WatchLater.State>
    ) throws -> Bool {
        guard let bytes = key.item(name(of: toggle)) else { return false }
        for mark in try read(bytes) {
            if let fall = try Marks.run(of: mark.broadcast, key)?.fall,
                fall.observedVersion > mark.version
            {
                return true
            }
        }
        return false
    }

    private static func read(_ bytes: [UInt8]) throws(ModelError) -> [DeliveredMark] {
        try StateReader.read(bytes) { (reader) throws(ModelError) in
            try reader.array { (reader) throws(ModelError) in
                DeliveredMark(broadcast: try reader.bytes(), version: try reader.uint64())
            }
        }
    }

    private static func encoded(_ marks: [DeliveredMark]) -> [UInt8] {
        var writer = StateWriter()
        writer.add(marks) { writer, mark in
            writer.add(mark.broadcast)
            writer.add(mark.version)
        }
        return writer.bytes
    }

    /// Reads an outcome; returns nil unless it is a confirmation that names a broadcast and a
    /// version.
    static func read(_ payload: RawSpan) throws(ModelError) -> (intent: [UInt8], Self)? {
        var (intent, broadcast): (WireField?, WireField?)
        var (kind, version): (UInt64, UInt64) = (0, 0)
        var fields = WireFields(payload)
        while let field = fields.next() {
            // The field numbers are defined in schema/tapedeck/remote/v1/remote.proto.
            switch field.number {
            case 2: intent = field
            case 4: kind = field.uint64
            case 5: broadcast = field
            case 10: version = field.uint64
            default: break
            }
        }
        guard !fields.isMalformed else {
            throw ModelError(.invalidPayload, "a payload is not an OutcomeRecorded")
        }
        guard kind == confirmed, version > 0, let intent, let broadcast else { return nil }
        return (
            payload.bytes(intent),
            DeliveredMark(broadcast: payload.bytes(broadcast), version: version)
        )
    }

    /// `KIND_CONFIRMED`.
    private static let confirmed: UInt64 = 2
}

/// A watch-later mark that a remote shows on a broadcast.
package struct RemoteMark: Hashable, Sendable {
    package var broadcast: String
    /// The version of the first observation in the current run of observations that show the mark,
    /// in Unix milliseconds; 0 for a mark that this store delivered.
    package var time: Int64
}
