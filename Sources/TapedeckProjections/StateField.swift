internal import TapedeckModel

/// A field of a state, for display.
public struct StateField: Hashable, Sendable, Codable {
    /// The name of the field in the program, preceded by the names of its parents, such as
    /// `winner.id`.
    public var name: String
    /// The value; for a long list, its first elements.
    public var value: String

    /// Creates a field.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// The maximum number of list elements to show.
    static let elementsMax = 8
    /// The maximum number of characters of a value to show.
    static let charactersMax = 240

    /// Returns the fields of a state that have a value.
    ///
    /// The fields are found by reflection, so projections need no code for display.
    static func all(of state: some ProjectionState) -> [StateField] {
        var fields: [StateField] = []
        for (name, value) in Mirror(reflecting: state).children {
            add(value, as: name ?? "", to: &fields)
        }
        return fields
    }

    private static func add(_ value: Any, as name: String, to fields: inout [StateField]) {
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .optional {
            if let held = mirror.children.first { add(held.value, as: name, to: &fields) }
            return
        }
        if let text = text(of: value, mirror) {
            guard !text.isEmpty else { return }
            let shown = text.count > charactersMax ? text.prefix(charactersMax) + "…" : text[...]
            fields.append(StateField(name: name, value: String(shown)))
            return
        }
        for (label, part) in mirror.children {
            add(part, as: label.map { "\(name).\($0)" } ?? name, to: &fields)
        }
    }

    /// Returns a value as a string; nil if its parts are shown one by one.
    private static func text(of value: Any, _ mirror: Mirror) -> String? {
        switch value {
        // Folds use a `FoldOrder` only for comparisons, so the value is not shown.
        case is FoldOrder: return ""
        case let bytes as [UInt8]: return text(of: bytes)
        default: break
        }
        switch mirror.displayStyle {
        case .collection, .set, .dictionary:
            let told = mirror.children.prefix(elementsMax).map { element in
                var parts: [StateField] = []
                add(element.value, as: "", to: &parts)
                return parts.map(\.value).joined(separator: " ")
            }
            let rest = mirror.children.count - told.count
            return told.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
        case .enum: return String(describing: value)
        case .struct, .class, .tuple:
            if let value = value as? any CustomStringConvertible { return value.description }
            // The description of a protobuf message begins with the message's name, followed by one
            // line per field.
            guard let value = value as? any CustomDebugStringConvertible else { return nil }
            return value.debugDescription.split(separator: "\n").dropFirst()
                .joined(separator: " ")
        default: return String(describing: value)
        }
    }

    private static func text(of bytes: [UInt8]) -> String {
        let isText =
            String(validating: bytes, as: UTF8.self)?.unicodeScalars
            .allSatisfy { !$0.properties.generalCategory.isControl } ?? false
        return isText ? String(decoding: bytes, as: UTF8.self) : bytes.hex
    }
}

extension Unicode.GeneralCategory {
    fileprivate var isControl: Bool { self == .control || self == .format }
}
