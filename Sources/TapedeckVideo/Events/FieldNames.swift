internal import SwiftProtobuf
internal import Synchronization
package import TapedeckModel

/// The JSON names of a message's fields, including those of nested messages.
///
/// SwiftProtobuf does not expose the JSON names. To find them, this type decodes, for each field
/// number, a message with only that field and encodes it as JSON, which contains the field's name.
/// A number that no field uses does not appear in the JSON.
package struct FieldNames: Sendable {
    /// The fields, each with its nested fields; `inner` is empty unless the field is a message.
    private let fields: [(name: String, inner: FieldNames)]

    /// The names, in the order of the schema.
    package var names: [String] { fields.map(\.name) }

    /// Returns the fields of a type, which are determined once and then cached.
    package static func of<E: VideoEvent>(_: E.Type) -> FieldNames {
        let type = E.eventType.name
        if let known = found.withLock({ $0[type] }) { return known }
        let names = FieldNames(of: E.self, inside: [])
        found.withLock { $0[type] = names }
        return names
    }

    private static let found = Mutex<[String: FieldNames]>([:])

    // MARK: - Unknown names

    /// Returns an error for the first unknown name in a payload, or nil if all names are known.
    ///
    /// - Parameters:
    ///   - order: The names in the object, in the order of the payload.
    ///   - type: The type of the event.
    package func refusal(
        of object: [String: JSONValue], order: [String], _ type: EventType
    ) -> ModelError? {
        guard let stranger = stranger(in: object, order: order) else { return nil }
        let known = stranger.among.names.joined(separator: ", ")
        let near = Spelling.nearest(to: stranger.name, among: stranger.among.names)
        return ModelError(
            .invalidPayload, "\(type) has no field \(stranger.path.prefix(200))",
            hint: near.map { "did you mean \($0)? The valid fields are \(known)" }
                ?? "the valid fields are \(known)")
    }

    private struct Stranger {
        let path: String
        let name: String
        let among: FieldNames
    }

    private func stranger(
        in object: [String: JSONValue], order: [String], holder: String = ""
    ) -> Stranger? {
        for name in order {
            let path = holder.isEmpty ? name : "\(holder).\(name)"
            guard let field = fields.first(where: { $0.name == FieldNames.jsonName(name) }) else {
                return Stranger(path: path, name: name, among: self)
            }
            guard !field.inner.fields.isEmpty, let value = object[name] else { continue }
            if let inner = field.inner.stranger(in: value, at: path) { return inner }
        }
        return nil
    }

    private func stranger(in value: JSONValue, at path: String) -> Stranger? {
        switch value {
        case .object(let object):
            return stranger(in: object, order: object.keys.sorted(), holder: path)
        case .array(let values):
            for (index, value) in values.enumerated() {
                if let found = stranger(in: value, at: "\(path)[\(index)]") { return found }
            }
            return nil
        default: return nil
        }
    }

    /// Converts a name in the schema to its JSON name, such as `created_at` to `createdAt`, because
    /// payloads may use either name.
    private static func jsonName(_ name: String) -> String {
        let words = name.split(separator: "_", omittingEmptySubsequences: false)
        return words.dropFirst().reduce(String(words.first ?? "")) {
            $0 + $1.prefix(1).uppercased() + $1.dropFirst()
        }
    }

    // MARK: - Finding names

    /// The highest field number to try; a test checks that the schema has no higher number.
    private static let numberMax = 60

    /// Sample values and their wire types; the first value, the byte `a`, is valid as a string but
    /// not as a message.
    private static let samples: [(wireType: Int, bytes: [UInt8])] = [
        (2, [1, 0x61]), (2, [0]), (0, [1]), (1, [0, 0, 0, 0, 0, 0, 0xF0, 0x3F]),
        (5, [0, 0, 0x80, 0x3F]),
    ]

    private init<E: VideoEvent>(of type: E.Type, inside path: [Int]) {
        fields = (1...FieldNames.numberMax).compactMap { number in
            for sample in FieldNames.samples {
                var bytes = FieldNames.key(number, sample.wireType) + sample.bytes
                for outer in path.reversed() {
                    bytes = FieldNames.key(outer, 2) + [UInt8(bytes.count)] + bytes
                }
                guard let field = FieldNames.written(type, bytes, depth: path.count) else {
                    continue
                }
                let inner =
                    field.isMessage
                    ? FieldNames(of: type, inside: path + [number]) : FieldNames(fields: [])
                return (field.name, inner)
            }
            return nil
        }
    }

    private init(fields: [(name: String, inner: FieldNames)]) { self.fields = fields }

    private static func key(_ number: Int, _ wireType: Int) -> [UInt8] {
        let key = number << 3 | wireType
        return key < 0x80 ? [UInt8(key)] : [UInt8(key & 0x7F | 0x80), UInt8(key >> 7)]
    }

    /// Returns the only field of the innermost message, or nil if the bytes contain no known field.
    private static func written<E: VideoEvent>(
        _: E.Type, _ bytes: [UInt8], depth: Int
    ) -> (name: String, isMessage: Bool)? {
        guard let message = try? E(serializedBytes: bytes),
            let json = try? message.jsonString(),
            var value = try? JSONParser.parse(Array(json.utf8))
        else { return nil }
        for level in 0...depth {
            if case .array(let values) = value, let first = values.first { value = first }
            guard case .object(let object) = value, let member = object.first else { return nil }
            value = member.value
            guard level == depth else { continue }
            if case .array(let values) = value, let first = values.first { value = first }
            if case .object = value { return (member.key, true) }
            return (member.key, false)
        }
        return nil
    }
}
