public import TapedeckModel
public import TapedeckProjections

/// The remote systems to which the user has connected the store, by name.
///
/// All devices of a user share this list, but each device has its own logins.
public struct Remotes: Projection {
    static let kind = "remote"

    /// Creates the projection.
    public init() {}

    /// `remotes`.
    public var name: String { "remotes" }
    /// 6.
    public var version: Int { 6 }
    /// `remote`.
    public var tagKind: String { Remotes.kind }
    /// The events that add, change and remove remotes or end their logins.
    public var eventTypes: [EventType] {
        [
            RemoteAdded.eventType, RemoteRemoved.eventType, RemoteListToggled.eventType,
            RemoteLoginsEnded.eventType,
        ]
    }
    /// A sentence that explains how the state of a remote is determined.
    public var ruleText: String? {
        """
        The last event that added the remote sets its system, address and parts, unless a later \
        event removed the remote. An event that adds the remote again at the same address, but \
        without parts, keeps the earlier parts. If the user then chooses or deselects a list, the \
        list is added to the parts or removed from them. A removal, a new address or a logout \
        everywhere ends the login of each device that did not know the event when the user logged \
        in.
        """
    }
    /// One table: the current remotes, by name.
    public var tables: [String] { ["by-name"] }

    /// The state of a remote.
    public struct State: ProjectionState, Equatable {
        var system: String?
        var url = ""
        var parts: [String] = []
        /// The events that ended the logins of all devices; kept if the remote is removed.
        var loginEnds = LoginEnds()

        /// Creates the state of a remote that does not exist.
        public init() {}

        /// Reads the bytes of a state.
        public init(decoding bytes: inout StateReader) throws(ModelError) {
            system = try bytes.optionalString()
            url = try bytes.string()
            parts = try bytes.array { (reader) throws(ModelError) in try reader.string() }
            loginEnds = LoginEnds(
                try bytes.array { (reader) throws(ModelError) in try reader.eventID() })
        }

        /// Writes the bytes of the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(system)
            bytes.add(url)
            bytes.add(UInt64(parts.count))
            for part in parts { bytes.add(part) }
            bytes.add(loginEnds.last) { $0.add($1) }
        }
    }

    /// Folds an event that adds or removes a remote, that chooses or deselects a list, or that ends
    /// all logins.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0:
            let added = try event.decode(RemoteAdded.self)
            // Keep the parts if the remote is added again without parts, because the device that
            // adds it may not know the parts yet.
            let isKnown = (key.state.system, key.state.url) == (added.system, added.url)
            if !isKnown || !added.parts.isEmpty { key.state.parts = added.parts }
            if !isKnown, key.state.system != nil { key.state.loginEnds.insert(event.id) }
            key.state.system = added.system
            key.state.url = added.url
        case 1:
            var removed = State()
            removed.loginEnds = key.state.loginEnds
            removed.loginEnds.insert(event.id)
            key.state = removed
        case 2:
            guard key.state.system != nil else { return }
            let choice = try event.decode(RemoteListToggled.self)
            key.state.parts.removeAll { $0 == choice.list }
            if choice.isOn { key.state.parts.append(choice.list) }
        default: key.state.loginEnds.insert(event.id)
        }
    }

    /// Adds one row if the remote exists.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard state.system != nil else { return }
        var value = StateWriter()
        value.add(String(key.name))
        state.encode(into: &value)
        rows.add(table: 0, key: RowKey().text(key.name), value: value.bytes)
    }

    /// Returns the events that ended the logins of all devices to a remote, even if the remote was
    /// removed.
    package static func loginEnds(of name: String, _ views: some ViewReader) throws -> LoginEnds {
        try views.state(of: Remotes(), key: Tag(kind, name))?.loginEnds ?? LoginEnds()
    }

    /// The maximum number of remotes per store.
    public static let countMax = 100

    /// Returns all current remotes, by name.
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

/// A remote system to which the store is connected.
public struct Remote: Hashable, Sendable {
    /// The name given by the user: lowercase letters, digits and `-`.
    public var name: String
    /// The name of its connector.
    public var system: String
    /// The address, without a trailing slash.
    public var url: String
    /// The parts to read, as defined by the connector; empty to read all parts that the connector
    /// supports.
    public var parts: [String]

    /// The maximum length of a name.
    public static let nameCountMax = 40

    /// Creates a remote after checking its name and address.
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
                .usage, "\"\(HTTPAddress.shown(name))\" is not a valid name for a remote",
                hint:
                    "use 1 to \(Remote.nameCountMax) lowercase letters, digits and hyphens, such as home"
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
