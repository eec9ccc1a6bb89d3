public import TapedeckModel
public import TapedeckProjections

/// The user's address book, and the addresses that remotes remember.
///
/// Table 0 contains the state of every address, including removed ones, because a removal also
/// hides earlier shares to the address.
public struct ContactList: Projection {
    /// Creates the projection.
    public init() {}

    /// `contacts`.
    public var name: String { "contacts" }
    /// 1.
    public var version: Int { 1 }
    /// `contact`.
    public var tagKind: String { "contact" }
    /// Entries of the address book, and addresses that remotes remember.
    public var eventTypes: [EventType] { [ContactNoted.eventType, ContactObserved.eventType] }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        The user's newest entry or removal decides whether the address is listed. If the user has \
        neither entered nor removed the address, it is listed because a remote remembers it.
        """
    }
    /// One table, which contains all addresses.
    public var tables: [String] { ["by-address"] }
    /// True, because only the newest entry of an address matters.
    public var foldsCompacted: Bool { true }

    /// The known facts about an address.
    public struct State: ProjectionState, Hashable {
        /// The address, as it was last written.
        var address = ""
        /// The person's name; empty if it is unknown.
        var name = ""
        /// Whether the address is in the user's address book.
        var isNoted = false
        /// The time at which the user removed the address, in Unix milliseconds.
        var removedAt: Int64?

        /// Creates the initial state.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            address = try bytes.string()
            name = try bytes.string()
            isNoted = try bytes.bool()
            removedAt = try bytes.optionalInt64()
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(address)
            bytes.add(name)
            bytes.add(isNoted)
            bytes.add(removedAt)
        }
    }

    /// Folds an entry, a removal or an observation.
    ///
    /// Observations are folded before the user's own events, so the user's events override them.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        guard event.typeIndex == 0 else {
            key.state.address = try event.decode(ContactObserved.self).address
            return
        }
        let noted = try event.decode(ContactNoted.self)
        key.state.address = noted.address
        key.state.name = noted.name
        key.state.isNoted = !noted.removed
        key.state.removedAt = noted.removed ? Int64(event.stamp.milliseconds) : nil
    }

    /// Adds a row for the address.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(table: 0, key: RowKey().text(key.name), value: value.bytes)
    }
}
