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
            if let gone = try compacted(text, in: log) { throw gone }
            throw CommandError(
                .notFound, "there is no event \(text) in this store",
                hint: "storectl log prints the events that there are")
        }
        return found
    }

    /// What to say of an event that was compacted; nil of one that was not.
    private static func compacted(_ text: String, in log: EventLog) throws -> CommandError? {
        var sequences: ClosedRange<UInt64>?
        if let id = EventID(text) {
            sequences = try log.compacted(id)
        } else if let position = UInt64(text) {
            sequences = try log.compacted(at: LogPosition(rawValue: position))?.sequences
        }
        guard let sequences else { return nil }
        return CommandError(
            .notFound,
            "event \(text) was compacted, with \(sequences.lowerBound) to \(sequences.upperBound) of its"
                + " origin: what it said, a later one says, too",
            hint: "storectl log prints the events that there are")
    }
}
