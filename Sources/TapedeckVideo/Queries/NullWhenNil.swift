/// A field of a result that is encoded as `null` if its value is unknown.
///
/// By default, Swift omits optionals that are nil. Clients could then not distinguish unknown
/// values from fields that an older version does not support.
@propertyWrapper
public struct NullWhenNil<Value: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    /// The value; nil if unknown.
    public var wrappedValue: Value?

    /// Wraps a value.
    public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    /// Decodes a value or `null`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }

    /// Encodes the value or `null`.
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
    /// Decodes a field; a missing field is treated as `null`.
    public func decode<Value>(
        _ type: NullWhenNil<Value>.Type, forKey key: Key
    ) throws -> NullWhenNil<Value> {
        try decodeIfPresent(type, forKey: key) ?? NullWhenNil(wrappedValue: nil)
    }
}
