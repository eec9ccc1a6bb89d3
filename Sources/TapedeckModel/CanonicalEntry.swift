/// The decoded form of canonical bytes: an event, or a stub that replaces compacted events.
///
/// An entry is a large value. To read one field of it, use the properties below: a `switch` in a
/// caller copies the entire entry.
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

    /// Whether the entry is an event whose stamp comes from a clock; false if the caller specified
    /// the stamp.
    package var isStampFromClock: Bool {
        switch self {
        case .event(let event): !event.isStampGiven
        case .stub: false
        }
    }

    /// Returns whether the entry is an event with a tag.
    ///
    /// - Parameter tag: The UTF-8 bytes of the tag.
    package func hasTag(_ tag: [UInt8]) -> Bool {
        switch self {
        case .event(let event):
            tag.withUnsafeBytes { tag in
                var tags = ByteReader(UnsafeRawBufferPointer(rebasing: event.bytes[event.tags]))
                while let found = tags.prefixed() {
                    if found.holdsSame(as: tag) { return true }
                }
                return false
            }
        case .stub: false
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
