package import TapedeckModel

/// What may be taken away.
package struct CompactionRule: Sendable {
    /// An event of a block.
    package struct Candidate: Sendable {
        package var event: EventEnvelope
        /// Whether it has to stay, whatever it says.
        package var isFixed: Bool
    }

    /// How many of an origin's sequences are looked at together.
    package static let blockCount = RangeStub.countMax

    /// The types that are looked at.
    package var types: Set<EventType>
    /// Which events nobody will miss, of those of a block that are of the types, in the order of their
    /// sequences.
    package var superseded: @Sendable ([Candidate]) -> [Bool]
    /// Whether an event with these receipts, and so all before it of its origin, has come everywhere where it
    /// has to.
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
