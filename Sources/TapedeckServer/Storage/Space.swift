package import TapedeckModel
internal import TapedeckSyncProtocol

/// The number of a space on its server; a *space* is a log whose entries have a single order.
package struct SpaceID: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package var description: String { String(rawValue) }

    package static func < (left: SpaceID, right: SpaceID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The head of a space's log.
package struct SpaceHead: Hashable, Sendable {
    package var lineage: LineageID
    /// The last assigned position.
    package var position: UInt64

    package init(lineage: LineageID, position: UInt64) {
        self.lineage = lineage
        self.position = position
    }
}

/// The names that users give to spaces and tokens.
enum SpaceName {
    static let usual = "default"

    /// Rejects names that would be hard to read in a list or a log line.
    static func check(_ name: String, of what: String) throws(ServerError) {
        let isFine = name.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                || [0x2D, 0x2E, 0x5F].contains($0)
        }
        guard isFine, (1...ServerLimits.nameCountMax).contains(name.utf8.count) else {
            throw ServerError(
                .usage, "\"\(name.prefix(80))\" cannot be the name of a \(what)",
                hint: "use at most \(ServerLimits.nameCountMax) letters, digits, dots,"
                    + " dashes and underscores")
        }
    }
}
