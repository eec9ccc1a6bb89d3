/// An observation of a remote object; the known state of the object is merged from its
/// observations.
///
/// A field with a value in a newer observation replaces the known value, a null field removes it,
/// and a missing field changes nothing.
protocol MergeableObservation: Sendable {
    /// The names of the fields that were null.
    var cleared: [String] { get }

    /// The mergeable fields of the observation, without duplicates.
    static var observationFields: [ObservationField<Self>] { get }
}

extension MergeableObservation {
    /// Merges a newer observation into this one.
    mutating func merge(newer: Self) {
        if !newer.cleared.isEmpty {
            for field in Self.observationFields where field.isCleared(in: newer) {
                field.clear(&self)
            }
        }
        for field in Self.observationFields { field.take(&self, newer) }
    }

    /// Returns the names of the fields in which another observation differs, in the order of
    /// `observationFields`.
    ///
    /// Fields without a name, such as versions and identities, are omitted.
    func namesOfFields(differingFrom other: Self) -> [String] {
        Self.observationFields.compactMap { $0.differs(self, other) ? $0.name : nil }
    }
}

/// The rules for merging one field of an observation.
struct ObservationField<Message: MergeableObservation>: Sendable {
    let name: String?
    /// Returns whether two observations differ in the field.
    let differs: @Sendable (Message, Message) -> Bool
    /// Copies the field if the newer observation contains it.
    let take: @Sendable (_ known: inout Message, _ newer: Message) -> Void
    let clear: @Sendable (inout Message) -> Void

    /// Creates a field that may be missing or null.
    ///
    /// - Parameters:
    ///   - name: The name of the field in `cleared`.
    ///   - isThere: Whether an observation contains the field.
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

    /// Creates a field that may be missing and is never null.
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

    /// Creates a field that every observation contains.
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
