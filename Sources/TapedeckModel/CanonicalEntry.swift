/// The decoded form of canonical bytes: an event, or a stub that replaces compacted events.
package enum CanonicalEntry {
    case event(CanonicalView)
    case stub(RangeStub)

    /// Decodes and validates canonical bytes.
    package init(_ canonical: UnsafeRawBufferPointer) throws(CanonicalProblem) {
        if RangeStub.isStub(canonical) {
            self = .stub(try RangeStub(canonical))
        } else {
            self = .event(try CanonicalView(canonical))
        }
    }

    /// The id of the event, or of the last event that a range stub replaces.
    package var id: EventID {
        switch self {
        case .event(let event): event.id
        case .stub(let stub): stub.id
        }
    }

    /// The sequence number of the event, or of the first event that a range stub replaces.
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

    /// Returns the `firstSequence` of canonical bytes, or nil if the bytes are invalid.
    package static func firstSequence(of canonical: UnsafeRawBufferPointer) -> UInt64? {
        RangeStub.isStub(canonical)
            ? (try? RangeStub(canonical))?.sequences.lowerBound
            : CanonicalView.id(of: canonical)?.sequence
    }

    /// Returns whether canonical bytes encode `event` or a range stub that replaces it.
    package static func isHeld(_ event: EventID, by canonical: UnsafeRawBufferPointer) -> Bool {
        guard let last = CanonicalView.id(of: canonical), last.origin == event.origin,
            let first = firstSequence(of: canonical)
        else { return false }
        return (first...last.sequence).contains(event.sequence)
    }
}
