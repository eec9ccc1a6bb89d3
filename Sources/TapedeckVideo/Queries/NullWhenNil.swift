/// A field of a result that is in its JSON also where nothing is known: as `null`.
///
/// What Swift makes of an optional leaves it out, and a reader could not tell a field that is unknown from
/// one that an older program does not have.
@propertyWrapper
public struct NullWhenNil<Value: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    /// What is known.
    public var wrappedValue: Value?

    /// Wraps what is known.
    public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    /// Reads a value or `null`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }

    /// Writes the value or `null`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue {
            try container.encode(wrappedValue)
        } else {
            try container.encodeNil()
        }
    }
}

extension KeyedDecodingContainer {
    /// Reads a field that may be missing, as one that is `null`.
    public func decode<Value>(
        _ type: NullWhenNil<Value>.Type, forKey key: Key
    ) throws -> NullWhenNil<Value> {
        try decodeIfPresent(type, forKey: key) ?? NullWhenNil(wrappedValue: nil)
    }
}
