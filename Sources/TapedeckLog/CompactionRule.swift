package import TapedeckModel

/// The criteria for removing events.
package struct CompactionRule: Sendable {
    /// An event in a block.
    package struct Candidate: Sendable {
        package var event: EventEnvelope
        /// Whether the event must stay, regardless of its content.
        package var isFixed: Bool
    }

    /// The number of events of an origin, including removed ones, that are examined together.
    package static let blockCount = RangeStub.countMax

    /// The types of events that are examined.
    package var types: Set<EventType>
    /// Returns, for each candidate of a block, whether it is superseded; candidates are ordered by
    /// sequence number.
    package var superseded: @Sendable ([Candidate]) -> [Bool]
    /// Returns whether an event with these receipts, and all earlier events of its origin, have
    /// reached every required server.
    package var isSettled: @Sendable (EventID, [Receipt]) -> Bool

    package init(
        types: Set<EventType>, superseded: @escaping @Sendable ([Candidate]) -> [Bool],
        isSettled: @escaping @Sendable (EventID, [Receipt]) -> Bool = { _, _ in true }
    ) {
        self.types = types
        self.superseded = superseded
        self.isSettled = isSettled
    }
}
