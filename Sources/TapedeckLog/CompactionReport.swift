/// What compaction did.
public struct CompactionReport: Codable, Hashable, Sendable {
    /// Why a block was left as it is.
    public enum Reason: String, Codable, Sendable, CaseIterable {
        /// Some of its events have no receipt yet of every server.
        case notDelivered
        /// A subscription has not acknowledged all of it.
        case subscription
        /// It is recorded behind what projections have taken in.
        case projections
        /// It is of a time that has not come yet: a server may put it right.
        case clock
    }

    /// An origin of which not all whole blocks could be looked at.
    public struct Waiting: Codable, Hashable, Sendable {
        /// The origin.
        public var origin: String
        /// The first sequence of the block that waits.
        public var sequence: UInt64
        /// What it waits for.
        public var reason: Reason
    }

    /// Events that were looked at.
    public var examined: UInt64 = 0
    /// Events that are gone.
    public var removed: UInt64 = 0
    /// Range stubs that stand for them.
    public var stubs: UInt64 = 0
    /// What could not be looked at yet.
    public var waiting: [Waiting] = []

    package init() {}
}
