internal import ArgumentParser
internal import Tapedeck

/// An event that the user identifies by id or position.
struct EventArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The event's id, <32 hex digits>-<sequence>, or its position.", valueName: "event"))
    var text: String

    /// Returns the event.
    ///
    /// - Throws: `CommandError` with `.usage` if the argument is neither an id nor a position, or
    ///   with `.notFound` if the store does not contain the event.
    func find(in log: EventLog) throws -> EventEnvelope {
        try EventArgument.find(text, in: log)
    }

    /// Returns whether a string has the form of an event id or a position.
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
                hint: "storectl log prints the events of the store")
        }
        return found
    }

    /// Returns the error for an event that was compacted; nil if it was not compacted.
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
            "event \(text) was superseded and removed by compaction (events"
                + " \(sequences.lowerBound) to \(sequences.upperBound) of its origin)",
            hint: "storectl log prints the events of the store")
    }
}
