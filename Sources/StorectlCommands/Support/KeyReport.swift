internal import Tapedeck

/// The explanation of a key's state, as `storectl explain` prints it.
struct KeyReport {
    let told: KeyExplanation

    init(_ told: KeyExplanation) { self.told = told }

    var json: JSON {
        [
            "projection": .text(told.projection), "key": .text(told.key),
            "rule": .init(told.rule),
            "state": told.state.map { fields in
                .list(fields.map { ["name": .text($0.name), "value": .text($0.value)] })
            } ?? .null,
            "items": .init(told.items), "rows": .init(told.rows),
            "frozen": told.frozen.map {
                [
                    "event": .text($0.event), "position": .init($0.position),
                    "reason": .text($0.reason),
                ]
            } ?? .null,
            "events": .list(
                told.events.map {
                    [
                        "event": .text($0.event), "position": .init($0.position),
                        "type": .text($0.type), "at": .text(KeyReport.time($0)),
                        "role": .text($0.role.rawValue),
                    ]
                }),
            "unexamined": .init(told.unexamined),
        ]
    }

    func write(_ text: inout TextReport) {
        var fields: [(name: String, value: String)] = [
            ("projection", told.projection), ("key", told.key), ("rule", told.rule ?? "-"),
        ]
        if let frozen = told.frozen {
            fields.append(("frozen", "since \(frozen.event): \(frozen.reason)"))
        }
        if told.state == nil { fields.append(("state", "none: no event has an effect")) }
        // Most fields are counts and marks that this key lacks.
        fields += (told.state ?? []).filter { !["0", "false"].contains($0.value) }
            .map { ($0.name, KeyReport.value(of: $0)) }
        fields += [("items", String(told.items)), ("rows", String(told.rows))]
        text.fields(fields)
        guard !told.events.isEmpty else { return }
        var table = TextTable([
            .state("role"), .time("at"), .text("type"), .number("position"), .text("event"),
        ])
        for event in told.events {
            table.add([
                event.role.rawValue, KeyReport.time(event), event.type, String(event.position),
                event.event,
            ])
        }
        text.line()
        text.table(table)
        if told.unexamined > 0 {
            let more = min(told.events.count + told.unexamined, KeyExplanation.eventsMax)
            text.remark(
                "\(Figures.count(told.unexamined, "earlier event")) not examined; to examine more, use"
                    + " --events \(more)")
        }
    }

    /// Returns a field's value; a number whose name says that it is a time is formatted as one.
    static func value(of field: StateField) -> String {
        let name = field.name.split(separator: ".").last ?? ""
        guard ["at", "time", "since", "earliestTold"].contains(name) || name.hasSuffix("At"),
            let milliseconds = Int64(field.value)
        else { return field.value }
        guard Timestamps.whole.contains(milliseconds) else {
            return "\(milliseconds) ms after 1970"
        }
        return TimeArgument.text(milliseconds)
    }

    private static func time(_ event: KeyExplanation.Event) -> String {
        TimeArgument.text(Int64(clamping: event.atMilliseconds))
    }
}
