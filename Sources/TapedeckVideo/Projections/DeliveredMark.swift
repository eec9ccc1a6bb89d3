internal import TapedeckModel
internal import TapedeckProjections

/// A toggle on that a remote has taken over: which broadcast holds it, and as of which version.
struct DeliveredMark: Equatable {
    static let prefix: [UInt8] = [UInt8(ascii: "k")]
    private static let versions: [UInt8] = [UInt8(ascii: "d")]

    let broadcast: [UInt8]
    let version: UInt64

    static func name(of intent: [UInt8]) -> RowKey { RowKey(prefix + intent) }

    /// Adds a confirmation to those of a toggle: one a broadcast, of which the least version counts, so
    /// that the order of arrival does not.
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

    /// Remembers with a broadcast what it has taken over.
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

    /// Whether a broadcast's mark as of a version is one that it was given from here.
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

    /// Whether a remote has said, behind a confirmation of a toggle, that the mark is gone.
    static func isTakenBack(
        _ toggle: EventID, _ key: borrowing KeyedState<WatchLater.State>
    ) throws -> Bool {
        guard let bytes = key.item(name(of: Array(toggle.description.utf8))) else { return false }
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

    /// Reads an outcome; nil where it is not a confirmation that names a broadcast.
    static func read(_ payload: RawSpan) throws(ModelError) -> (intent: [UInt8], Self)? {
        var (intent, broadcast): (WireField?, WireField?)
        var (kind, version): (UInt64, UInt64) = (0, 0)
        var fields = WireFields(payload)
        while let field = fields.next() {
            // Numbers as in schema/tapedeck/remote/v1/remote.proto.
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

/// A broadcast that a remote tells as marked to be seen later, and since when.
package struct RemoteMark: Hashable, Sendable {
    package var broadcast: String
    /// The version in which the telling began, in Unix milliseconds.
    package var time: Int64
}
