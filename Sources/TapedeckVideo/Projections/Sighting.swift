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
}

/// How one field of a sighting merges.
struct SightingField<Message: Sighting>: Sendable {
    private let name: String?
    /// Takes it over where the newer sighting has it.
    let take: @Sendable (_ known: inout Message, _ newer: Message) -> Void
    let clear: @Sendable (inout Message) -> Void

    /// One that may be absent or null.
    ///
    /// - Parameters:
    ///   - name: what `cleared` calls it.
    ///   - isThere: whether a sighting has it.
    init<Value>(
        _ name: String, _ isThere: any KeyPath<Message, Bool> & Sendable,
        _ value: any WritableKeyPath<Message, Value> & Sendable,
        clear: @escaping @Sendable (inout Message) -> Void
    ) {
        self.name = name
        take = {
            if $1[keyPath: isThere] { $0[keyPath: value] = $1[keyPath: value] }
        }
        self.clear = clear
    }

    /// One that may be absent and is never null.
    init<Value>(
        _ isThere: any KeyPath<Message, Bool> & Sendable,
        _ value: any WritableKeyPath<Message, Value> & Sendable
    ) {
        name = nil
        take = {
            if $1[keyPath: isThere] { $0[keyPath: value] = $1[keyPath: value] }
        }
        clear = { _ in }
    }

    /// One that every sighting has.
    init<Value>(_ value: any WritableKeyPath<Message, Value> & Sendable) {
        name = nil
        take = { $0[keyPath: value] = $1[keyPath: value] }
        clear = { _ in }
    }

    fileprivate func isCleared(in newer: Message) -> Bool {
        name.map(newer.cleared.contains) ?? false
    }
}
