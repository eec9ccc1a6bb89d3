/// The result of a compaction.
public struct CompactionReport: Codable, Hashable, Sendable {
    /// The reason why a block was not compacted.
    public enum Reason: String, Codable, Sendable, CaseIterable {
        /// Some events in the block do not have a receipt from every server yet.
        case notDelivered
        /// A subscription has not acknowledged all events in the block.
        case subscription
        /// Projections have not folded all events in the block.
        case projections
        /// Some events in the block have a time in the future, which a server may correct.
        case clock
    }

    /// An origin with a complete block of 1,024 events that cannot be examined yet.
    public struct Waiting: Codable, Hashable, Sendable {
        /// The origin.
        public var origin: String
        /// The first sequence number of the waiting block.
        public var sequence: UInt64
        /// The reason why the block cannot be examined yet.
        public var reason: Reason
    }

    /// The number of examined events.
    public var examined: UInt64 = 0
    /// The number of removed events.
    public var removed: UInt64 = 0
    /// The number of range stubs that replace the removed events.
    public var stubs: UInt64 = 0
    /// The origins with a complete block of 1,024 events that cannot be examined yet.
    public var waiting: [Waiting] = []

    package init() {}
}
