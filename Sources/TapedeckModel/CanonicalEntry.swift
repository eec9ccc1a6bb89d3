/// What canonical bytes say: an event, or what is left of some that were compacted.
package enum CanonicalEntry {
    case event(CanonicalView)
    case stub(RangeStub)

    /// Reads and checks canonical bytes.
    package init(_ canonical: UnsafeRawBufferPointer) throws(CanonicalProblem) {
        if RangeStub.isStub(canonical) {
            self = .stub(try RangeStub(canonical))
        } else {
            self = .event(try CanonicalView(canonical))
        }
    }

    /// The name of the event; of a range stub that of its last.
    package var id: EventID {
        switch self {
        case .event(let event): event.id
        case .stub(let stub): stub.id
        }
    }

    /// The first sequence of those that it stands for.
    package var firstSequence: UInt64 {
        switch self {
        case .event(let event): event.id.sequence
        case .stub(let stub): stub.sequences.lowerBound
        }
    }

    package var stamp: Stamp {
        switch self {
        case .event(let event): event.stamp
        case .stub(let stub): stub.stamp
        }
    }

    /// The first sequence of what canonical bytes stand for; nil where they are none.
    package static func firstSequence(of canonical: UnsafeRawBufferPointer) -> UInt64? {
        RangeStub.isStub(canonical)
            ? (try? RangeStub(canonical))?.sequences.lowerBound
            : CanonicalView.id(of: canonical)?.sequence
    }

    /// Whether canonical bytes are an event's, or those of a range stub that stands for it.
    package static func isHeld(_ event: EventID, by canonical: UnsafeRawBufferPointer) -> Bool {
        guard let last = CanonicalView.id(of: canonical), last.origin == event.origin,
            let first = firstSequence(of: canonical)
        else { return false }
        return (first...last.sequence).contains(event.sequence)
    }
}
