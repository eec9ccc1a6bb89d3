internal import ArgumentParser
internal import Foundation
internal import Tapedeck

/// The command `storectl log`.
struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Print events in log order.",
        discussion: """
            Without --limit, all events are printed. With --follow, the command waits for new \
            events, including events from other processes, until it is interrupted or its output \
            is closed.

            EXAMPLE:
              storectl log --type WatchLaterToggled --json
              storectl log --follow --tag video/youtube:aqz-KE-bpKQ
            """)

    @Flag(help: "Wait for new events.")
    var follow = false

    @Option(
        help: "Print only events of this type.",
        completion: .list(KnownTypes.names))
    var type: String?

    @Option(help: ArgumentHelp("Print only events with this tag, as kind/name.", valueName: "tag"))
    var tag: String?

    @Option(help: ArgumentHelp("Print only events after this position.", valueName: "position"))
    var after: UInt64 = 0

    @Option(help: ArgumentHelp("The maximum number of events.", valueName: "n"))
    var limit: UInt64?

    @OptionGroup var options: StoreOptions

    /// The number of events to read at a time.
    private static let pageCount: UInt64 = 500

    func validate() throws {
        if limit == 0 { throw ValidationError("--limit must be 1 or more") }
    }

    func run() throws {
        let type = try type.map { try EventType($0) }
        let tag = try tag.map { try Tag($0) }
        if follow { Interruption.remember() }
        let filter = EventFilter(tags: tag.map { [$0] } ?? [], types: type.map { [$0] } ?? [])
        try options.withLog(isReading: true) { log in
            if let type { try diagnose(type, in: log) }
            var position = LogPosition(rawValue: after)
            var left = limit ?? .max
            while left > 0 {
                let page = try log.page(
                    fitting: filter, after: position, limit: Int(min(LogCommand.pageCount, left)))
                if !page.events.isEmpty { try StandardOutput.write(lines(page.events)) }
                left -= UInt64(page.events.count)
                if Interruption.isRequested { return }
                guard page.reached <= position else {
                    position = page.reached
                    continue
                }
                guard follow else { return }
                if try !waitForEvents(log, after: position) { return }
            }
        }
    }

    /// Warns about a type that neither this program nor the log knows, because its name is probably
    /// misspelled.
    private func diagnose(_ type: EventType, in log: EventLog) throws {
        guard KnownTypes.schemaVersion(of: type) == nil,
            try log.events(after: .start, limit: 1, type: type).isEmpty
        else { return }
        StandardOutput.diagnose(
            "unknown type: neither this program nor this store knows \(type.name)")
        if let name = Spelling.nearest(to: type.name, among: KnownTypes.names) {
            StandardOutput.diagnose("hint: did you mean \(name)?")
        }
    }

    /// Waits for events after a position; returns false if the command is interrupted or its output
    /// is closed first.
    private func waitForEvents(_ log: EventLog, after position: LogPosition) throws -> Bool {
        while try log.currentHead() <= position {
            if Interruption.isRequested || StandardOutput.isClosed { return false }
            usleep(UInt32(EventLog.pollInterval / .microseconds(1)))
        }
        return true
    }

    private func lines(_ events: [EventEnvelope]) -> String {
        if options.json { return events.map { EventReport($0).json.line + "\n" }.joined() }
        return events.map { StandardOutput.isTerminal ? aligned($0) : plain($0) }.joined()
    }

    private func plain(_ event: EventEnvelope) -> String {
        let cells = [
            event.position.description, TimeArgument.text(event.stamp), event.id.description,
            event.type.name, event.tags.map(\.text).joined(separator: ","),
            EventReport(event).payloadText,
        ]
        return cells.map(VisibleText.line).joined(separator: "\t") + "\n"
    }

    private func aligned(_ event: EventEnvelope) -> String {
        func padded(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: max(0, width - text.utf8.count))
        }
        let position = event.position.description
        let front =
            String(repeating: " ", count: max(0, 8 - position.utf8.count)) + position + "  "
            + TimeArgument.text(event.stamp) + "  " + padded(event.type.name, 18) + "  "
        let rest = VisibleText.line(
            event.tags.map(\.text).joined(separator: " ") + "  " + EventReport(event).payloadText)
        let width = max(20, StandardOutput.columns - DisplayWidth.of(front))
        return front + DisplayWidth.cut(rest, to: width) + "\n"
    }
}
