@_spi(Core) internal import TapedeckModel

/// A hash by which the index finds an event: the hash of its type, of a tag, or of its remote
/// entity.
///
/// Two terms may have the same hash, so callers compare the event itself.
struct Term: Hashable {
    let hash: UInt64

    init(hash: UInt64) { self.hash = hash }
    init(type: EventType) { hash = stableHash(type.name, seed: 1) }
    init(tag: Tag) { hash = stableHash(tag.text, seed: 2) }
    init(tagBytes: UnsafeRawBufferPointer) { hash = stableHash(tagBytes, seed: 2) }
    init(entity: Digest16) { hash = entity.high ^ 0x9E37_79B9_7F4A_7C15 }

    /// Calls `body` with every term of a record.
    @inline(__always)
    static func forEach(
        of record: RecordView, typeTerms: [Term], _ body: (UInt64) -> Void
    ) {
        // Compacted events have no terms.
        guard !record.isStub else { return }
        if Int(record.type) < typeTerms.count { body(typeTerms[Int(record.type)].hash) }
        record.forEachTag { body(Term(tagBytes: $0).hash) }
        if let fact = record.fact { body(Term(entity: fact.entity).hash) }
    }
}
