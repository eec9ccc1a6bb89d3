internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// A member of a JSON object in a response.
enum JSONField<Value> {
    /// The member is missing, so its value is unknown.
    case absent
    /// The member is null: there is no value.
    case null
    /// The member has a value.
    case value(Value)

    /// The value, if there is one.
    var value: Value? {
        if case .value(let value) = self { return value }
        return nil
    }
}

/// A JSON object in a response, and its path, which every refusal includes.
struct JSONElement {
    /// The path of the object, such as `$[3].show`.
    let path: String
    private let members: [String: JSONValue]

    /// Creates an element from `value`, which must be an object.
    init(_ value: JSONValue, at path: String) throws(IngestRefusal) {
        guard case .object(let members) = value else {
            throw IngestRefusal(path, .invalidPayload, "is \(own: value.kind), not an object")
        }
        self.path = path
        self.members = members
    }

    /// The names of the members, sorted.
    var names: [String] { members.keys.sorted() }

    /// Returns whether the object has a member with this name, even if it is null.
    func has(_ name: String) -> Bool { members[name] != nil }

    /// Returns a member of any type.
    func any(_ name: String) -> JSONField<JSONValue> {
        switch members[name] {
        case nil: .absent
        case .null: .null
        case .some(let value): .value(value)
        }
    }

    /// Returns a member that is an object.
    func object(_ name: String) throws(IngestRefusal) -> JSONField<JSONElement> {
        switch any(name) {
        case .absent: .absent
        case .null: .null
        case .value(let value): .value(try JSONElement(value, at: "\(path).\(name)"))
        }
    }

    /// Returns a member that is a list; null counts as missing.
    func list(_ name: String) throws(IngestRefusal) -> [JSONValue]? {
        guard let value = any(name).value else { return nil }
        guard case .array(let list) = value else { throw wrong(name, value, "a list") }
        return list
    }

    /// Returns a member that is a list of strings.
    func texts(_ name: String) throws(IngestRefusal) -> JSONField<[String]> {
        guard has(name) else { return .absent }
        guard let list = try list(name) else { return .null }
        var texts: [String] = []
        for (index, value) in list.enumerated() {
            guard case .string(let text) = value else {
                throw wrong("\(name)[\(index)]", value, "a string")
            }
            texts.append(try checked(text, "\(name)[\(index)]"))
        }
        return .value(texts)
    }

    /// Returns a member that is a string.
    func text(_ name: String) throws(IngestRefusal) -> JSONField<String> {
        switch any(name) {
        case .absent: return .absent
        case .null: return .null
        case .value(.string(let text)): return .value(try checked(text, name))
        case .value(let value): throw wrong(name, value, "a string")
        }
    }

    /// Returns a member that is a URL; an empty string counts as null.
    func url(_ name: String) throws(IngestRefusal) -> JSONField<String> {
        guard let text = try text(name).value else { return has(name) ? .null : .absent }
        guard !text.isEmpty else { return .null }
        do throws(ModelError) {
            try FieldChecks.url(text, name)
        } catch {
            throw IngestRefusal("\(path).\(name)", error)
        }
        return .value(text)
    }

    /// Returns a member that is an integer in `range`.
    func integer(
        _ name: String, in range: ClosedRange<Int64> = .min ... .max
    ) throws(IngestRefusal) -> JSONField<Int64> {
        guard let value = any(name).value else { return has(name) ? .null : .absent }
        guard case .number(let digits) = value else { throw wrong(name, value, "a number") }
        guard let number = value.int64, range.contains(number) else {
            throw IngestRefusal(
                "\(path).\(name)", .invalidPayload,
                "\(digits.prefix(40)) is not an integer from \(range.lowerBound) to "
                    + "\(range.upperBound)")
        }
        return .value(number)
    }

    /// Returns a required member that is a remote's numeric id.
    func id(_ name: String = "id") throws(IngestRefusal) -> Int64 {
        guard let id = try integer(name, in: 1 ... .max).value else {
            throw IngestRefusal("\(path).\(name)", .invalidPayload, "is missing")
        }
        return id
    }

    /// Returns a Boolean member; the numbers 0 and 1 count as false and true.
    func flag(_ name: String) throws(IngestRefusal) -> JSONField<Bool> {
        switch any(name) {
        case .absent: return .absent
        case .null: return .null
        case .value(.bool(let flag)): return .value(flag)
        case .value(.number("0")): return .value(false)
        case .value(.number("1")): return .value(true)
        case .value(let value): throw wrong(name, value, "a Boolean")
        }
    }

    /// Returns a member that is a calendar day; TVmaze writes an unknown day as an empty string or
    /// zeros.
    func day(_ name: String) throws(IngestRefusal) -> JSONField<String> {
        guard let text = try text(name).value else { return has(name) ? .null : .absent }
        if text.isEmpty || text == "0000-00-00" { return .null }
        guard CalendarDay(text) != nil else { throw noTime(name, text, "a day such as 2019-07-11") }
        return .value(text)
    }

    /// Returns a member that is a time in RFC 3339 format, as Unix milliseconds; an empty string
    /// counts as null.
    func time(
        _ name: String, in range: Range<Int64> = Timestamps.recorded
    ) throws(IngestRefusal) -> JSONField<Int64> {
        guard let text = try text(name).value else { return has(name) ? .null : .absent }
        if text.isEmpty { return .null }
        guard let time = Timestamps.milliseconds(text), range.contains(time) else {
            throw noTime(
                name, text,
                range == Timestamps.recorded
                    ? "a time in 1970 or later, such as 2019-07-11T20:00:00Z"
                    : "a time such as 2019-07-11T20:00:00Z")
        }
        return .value(time)
    }

    private func checked(_ text: String, _ name: String) throws(IngestRefusal) -> String {
        do throws(ModelError) {
            try FieldChecks.text(text, name)
        } catch {
            throw IngestRefusal("\(path).\(name)", error)
        }
        return text
    }

    private func wrong(
        _ name: String, _ value: JSONValue, _ expected: FailureText
    ) -> IngestRefusal {
        IngestRefusal("\(path).\(name)", .invalidPayload, "is \(own: value.kind), not \(expected)")
    }

    private func noTime(_ name: String, _ text: String, _ what: FailureText) -> IngestRefusal {
        IngestRefusal(
            "\(path).\(name)", .invalidTime, "\"\(text.prefix(40))\" is not \(what)")
    }
}
