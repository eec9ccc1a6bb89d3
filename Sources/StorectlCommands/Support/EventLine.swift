internal import Tapedeck

/// Reads an event from a line of JSON: `{"type", "payload", "at"?}`.
enum EventLine {
    /// Returns the event in a line; nil if the line is blank.
    static func proposal(_ line: LineReader.Line) throws(ModelError) -> ProposedEvent? {
        switch line {
        case .bytes(let bytes): return try proposal(bytes)
        case .tooLong:
            throw ModelError(
                .tooLarge, "the line is longer than \(LineReader.lineBytesMax) bytes")
        }
    }

    /// Returns the event in a line; nil if the line is blank.
    ///
    /// - Throws: `ModelError`, including the errors of `EventCatalogue.proposal`.
    static func proposal(_ line: [UInt8]) throws(ModelError) -> ProposedEvent? {
        guard line.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { return nil }
        let (value, members) = try parsed(line)
        guard case .object(let object) = value else {
            throw ModelError(
                .malformedJSON, "the line is \(value.kind), not an object with type and payload")
        }
        guard case .string(let type) = object["type"] else {
            throw ModelError(.invalidPayload, "type is missing or is not a string")
        }
        guard let payload = members.last(where: { $0.name == "payload" }) else {
            throw ModelError(.invalidPayload, "payload is missing")
        }
        let proposal = try AppendableEvents.proposal(
            type: type, json: Array(line[valueRange(of: payload.range, in: line)]),
            atMilliseconds: try time(object["at"]))
        do throws(LogError) {
            try EventLog.check([proposal])
        } catch {
            throw ModelError(error.code, error.message, hint: error.hint)
        }
        return proposal
    }

    private static func parsed(
        _ line: [UInt8]
    ) throws(ModelError) -> (value: JSONValue, members: [JSONParser.Member]) {
        do throws(ModelError) {
            return try JSONParser.parseWithMembers(line)
        } catch {
            // The parser sees one line of the file at a time, so its messages always refer to line
            // 1.
            let message = error.message
            let own = "line 1, "
            throw ModelError(
                error.code,
                message.hasPrefix(own) ? String(message.dropFirst(own.count)) : message,
                hint: error.hint)
        }
    }

    private static func time(_ value: JSONValue?) throws(ModelError) -> UInt64? {
        switch value {
        case nil, .null: return nil
        case .string(let text):
            if let time = TimeArgument.readEvent(text) { return time }
            throw ModelError(
                .invalidTime, "at: \"\(text.prefix(64))\" is not a time from 1970 to 9999",
                hint: TimeArgument.hint)
        case .some(let value):
            throw ModelError(
                .invalidTime, "\"at\" is \(value.kind), not a string", hint: TimeArgument.hint)
        }
    }

    /// Returns the range of a member's value, which follows its name and a colon; the line must be
    /// valid JSON.
    private static func valueRange(of member: Range<Int>, in line: [UInt8]) -> Range<Int> {
        var at = member.lowerBound + 1
        while at < member.upperBound, line[at] != UInt8(ascii: "\"") {
            at += line[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        while at < member.upperBound, line[at] != UInt8(ascii: ":") { at += 1 }
        return min(at + 1, member.upperBound)..<member.upperBound
    }
}
