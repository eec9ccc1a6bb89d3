public import TapedeckModel
public import TapedeckProjections

/// The remote systems that the user has connected the store with, by name.
///
/// It is the same on all of a user's devices; logins are each device's own.
public struct Remotes: Projection {
    static let kind = "remote"

    /// Makes the projection.
    public init() {}

    /// `remotes`.
    public var name: String { "remotes" }
    /// 2.
    public var version: Int { 2 }
    /// `remote`.
    public var tagKind: String { Remotes.kind }
    /// What is added and what is removed.
    public var eventTypes: [EventType] { [RemoteAdded.eventType, RemoteRemoved.eventType] }
    /// The rule in a sentence.
    public var ruleText: String? {
        "The last word counts: that the remote was added, as what, or that it was removed."
    }
    /// One: those that are there, by name.
    public var tables: [String] { ["by-name"] }

    /// What is known of a remote.
    public struct State: ProjectionState, Equatable {
        var system: String?
        var url = ""
        var parts: [String] = []

        /// None.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws(ModelError) {
            system = try bytes.optionalString()
            url = try bytes.string()
            parts = try bytes.array { (reader) throws(ModelError) in try reader.string() }
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(system)
            bytes.add(url)
            bytes.add(UInt64(parts.count))
            for part in parts { bytes.add(part) }
        }
    }

    /// Folds an addition or a removal.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        guard event.typeIndex == 0 else {
            key.state = State()
            return
        }
        let added = try event.decode(RemoteAdded.self)
        key.state.system = added.system
        key.state.url = added.url
        key.state.parts = added.parts
    }

    /// One row for a remote that is there.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard state.system != nil else { return }
        var value = StateWriter()
        value.add(String(key.name))
        state.encode(into: &value)
        rows.add(table: 0, key: RowKey().text(key.name), value: value.bytes)
    }

    /// The most remotes that a store may have.
    public static let countMax = 100

    /// Every remote that is there, by name.
    public static func all(_ views: some ViewReader) throws -> [Remote] {
        try views.rows(
            of: Remotes(), table: 0, lower: nil, upper: nil, after: nil, limit: countMax
        ).compactMap { row in
            try StateReader.read(row.value) { (reader) throws(ModelError) in
                let name = try reader.string()
                let state = try State(decoding: &reader)
                return Remote(
                    name: name, system: state.system ?? "", url: state.url, parts: state.parts)
            }
        }
    }
}

/// A remote system that the store is connected with.
public struct Remote: Hashable, Sendable {
    /// What the user calls it: lower-case letters, digits and `-`.
    public var name: String
    /// Which connector speaks with it.
    public var system: String
    /// Its address, without a slash at the end.
    public var url: String
    /// What of it is read, in the words of its connector; empty where that reads all it can.
    public var parts: [String]

    /// The longest name.
    public static let nameCountMax = 40

    /// Checks a name and an address.
    ///
    /// Throws `SyncError` with `.usage`.
    public init(
        checking name: String, system: String, url: String, parts: [String] = []
    ) throws(SyncError) {
        let isName =
            (1...Remote.nameCountMax).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D
            }
        guard isName else {
            throw SyncError(
                .usage, "\"\(name.prefix(60))\" is not a name for a remote",
                hint:
                    "use 1 to \(Remote.nameCountMax) lower-case letters, digits and hyphens, such as home"
            )
        }
        self.init(name: name, system: system, url: try HTTPAddress(url).base, parts: parts)
    }

    init(name: String, system: String, url: String, parts: [String]) {
        self.name = name
        self.system = system
        self.url = url
        self.parts = parts
    }
}
