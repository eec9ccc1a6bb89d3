/// What was seen of a remote thing that is known by all of its sightings together.
///
/// A field that a newer sighting has takes the place of what was known, a field that it held as null takes
/// it away, and a field that it left out changes nothing.
protocol Sighting: Sendable {
    /// The names of the fields that were null.
    var cleared: [String] { get }

    /// The fields, each once.
    static var sightingFields: [SightingField<Self>] { get }
}

extension Sighting {
    /// Takes over what a newer sighting says.
    mutating func merge(newer: Self) {
        if !newer.cleared.isEmpty {
            for field in Self.sightingFields where field.isCleared(in: newer) { field.clear(&self) }
        }
        for field in Self.sightingFields { field.take(&self, newer) }
    }

    /// The names of the fields of which another tells something else, in their order; versions and
    /// identities have no names.
    func namesOfFields(differingFrom other: Self) -> [String] {
        Self.sightingFields.compactMap { $0.differs(self, other) ? $0.name : nil }
    }
}

/// How one field of a sighting merges.
struct SightingField<Message: Sighting>: Sendable {
    let name: String?
    /// Whether two sightings tell different things of it.
    let differs: @Sendable (Message, Message) -> Bool
    /// Takes it over where the newer sighting has it.
    let take: @Sendable (_ known: inout Message, _ newer: Message) -> Void
    let clear: @Sendable (inout Message) -> Void

    /// One that may be absent or null.
    ///
    /// - Parameters:
    ///   - name: what `cleared` calls it.
    ///   - isThere: whether a sighting has it.
    init<Value: Equatable & SendableMetatype>(
        _ name: String, _ isThere: any KeyPath<Message, Bool> & Sendable,
        _ value: any WritableKeyPath<Message, Value> & Sendable,
        clear: @escaping @Sendable (inout Message) -> Void
    ) {
        self.name = name
        take = {
            if $1[keyPath: isThere] { $0[keyPath: value] = $1[keyPath: value] }
        }
        differs = {
            $0[keyPath: isThere] != $1[keyPath: isThere]
                || $0[keyPath: value] != $1[keyPath: value]
        }
        self.clear = clear
    }

    /// One that may be absent and is never null.
    init<Value: Equatable & SendableMetatype>(
        _ isThere: any KeyPath<Message, Bool> & Sendable,
        _ value: any WritableKeyPath<Message, Value> & Sendable
    ) {
        name = nil
        take = {
            if $1[keyPath: isThere] { $0[keyPath: value] = $1[keyPath: value] }
        }
        differs = { $0[keyPath: value] != $1[keyPath: value] }
        clear = { _ in }
    }

    /// One that every sighting has.
    init<Value: Equatable & SendableMetatype>(
        _ value: any WritableKeyPath<Message, Value> & Sendable
    ) {
        name = nil
        take = { $0[keyPath: value] = $1[keyPath: value] }
        differs = { $0[keyPath: value] != $1[keyPath: value] }
        clear = { _ in }
    }

    fileprivate func isCleared(in newer: Message) -> Bool {
        name.map(newer.cleared.contains) ?? false
    }
}
