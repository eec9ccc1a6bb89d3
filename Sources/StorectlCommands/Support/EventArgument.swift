internal import ArgumentParser
internal import Tapedeck

/// An event that a user names: by its id, or by its position.
struct EventArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The event's id, <32 hex digits>-<sequence>, or its position.", valueName: "event"))
    var text: String

    /// Throws `CommandError`: `.usage` for what is neither, `.notFound`.
    func find(in log: EventLog) throws -> EventEnvelope {
        try EventArgument.find(text, in: log)
    }

    /// Whether a text has the form of an event's id or of a position.
    static func isOne(_ text: String) -> Bool { EventID(text) != nil || UInt64(text) != nil }

    static func find(_ text: String, in log: EventLog) throws -> EventEnvelope {
        let found: EventEnvelope?
        if let id = EventID(text) {
            found = try log.event(id)
        } else if let position = UInt64(text) {
            let isThere = try position > 0 && position <= log.currentHead().rawValue
            found = isThere ? try log.event(at: LogPosition(rawValue: position)) : nil
        } else {
            throw CommandError(
                .usage, "\"\(text.prefix(80))\" is neither an event's id nor a position",
                hint: "storectl log prints both")
        }
        guard let found else {
            throw CommandError(
                .notFound, "there is no event \(text) in this store",
                hint: "storectl log prints the events that there are")
        }
        return found
    }
}
