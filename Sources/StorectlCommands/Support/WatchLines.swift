internal import Synchronization
internal import Tapedeck

/// Prints the updates of a watched list: one JSON document per update, or one line of text per
/// change to the list or to its state.
final class WatchLines<Entry: Encodable & Hashable & Sendable>: Sendable {
    private let isJSON: Bool
    private let cells: @Sendable (Entry) -> [String?]
    /// The last printed state; locked while printing, because several threads report progress.
    private let said = Mutex(LiveState())

    /// - Parameter cells: Returns the columns that describe an entry in text.
    init(isJSON: Bool, _ cells: @escaping @Sendable (Entry) -> [String?]) {
        (self.isJSON, self.cells) = (isJSON, cells)
    }

    func say(_ update: LiveUpdate<Entry>) throws {
        try said.withLock { said in
            try StandardOutput.write(
                isJSON
                    ? document(update).line + "\n"
                    : (states(from: said, to: update.state) + update.changes.map(line))
                        .map { $0.map(VisibleText.line).joined(separator: "\t") + "\n" }
                        .joined())
            said = update.state
        }
    }

    // MARK: - Text

    private func line(_ change: LiveChange<Entry>) -> [String] {
        let (sign, place, entry): (String, String, Entry?) =
            switch change {
            case .removed(let at): ("-", "\(at)", nil)
            case .inserted(let entry, let at): ("+", "\(at)", entry)
            case .moved(let from, let to, let entry): (">", "\(from) \(to)", entry)
            case .updated(let entry, let at): ("=", "\(at)", entry)
            }
        return [sign, place] + (entry.map(cells)?.map { $0 ?? "–" } ?? [])
    }

    private func states(from old: LiveState, to new: LiveState) -> [[String]] {
        var lines: [[String]] = []
        // Print only the phase; printing its progress would add a line for every percent.
        if let phase = new.loading?.phase, phase != old.loading?.phase {
            lines.append(["~", "loading", phase])
        }
        guard new.failures != old.failures else { return lines }
        guard !new.failures.isEmpty else { return lines + [["~", "current"]] }
        return lines
            + new.failures.map { failure in
                let retry = failure.retryAt.map { "next attempt at \(TimeArgument.text($0))" }
                return ["~", "failed", failure.code.rawValue]
                    + [failure.remote, failure.message, retry].compactMap { $0 }
            }
    }

    // MARK: - Documents

    private func document(_ update: LiveUpdate<Entry>) throws -> JSON {
        let changes = try update.changes.map { try document($0) }
        return [
            "changes": .list(changes), "hasMore": .bool(update.hasMore),
            "nextChangeAt": .init(update.nextChangeAt.map(TimeArgument.text)),
            "state": update.state.json,
        ]
    }

    private func document(_ change: LiveChange<Entry>) throws -> JSON {
        switch change {
        case .removed(let at): ["change": "removed", "at": .integer(Int64(at))]
        case .inserted(let entry, let at):
            ["change": "inserted", "at": .integer(Int64(at)), "entry": try JSON(encoding: entry)]
        case .moved(let from, let to, let entry):
            [
                "change": "moved", "from": .integer(Int64(from)), "to": .integer(Int64(to)),
                "entry": try JSON(encoding: entry),
            ]
        case .updated(let entry, let at):
            ["change": "updated", "at": .integer(Int64(at)), "entry": try JSON(encoding: entry)]
        }
    }
}

extension LiveState {
    fileprivate var json: JSON {
        [
            "loading": loading.map { $0.json } ?? JSON.null,
            "failures": .list(failures.map { $0.json }),
            "retryAt": .init(retryAt.map(TimeArgument.text)),
        ]
    }
}

extension RebuildProgress {
    fileprivate var json: JSON {
        ["phase": .text(phase), "done": .init(done), "total": .init(total)]
    }
}

extension LiveFailure {
    fileprivate var json: JSON {
        [
            "code": .text(code.rawValue), "message": .text(message),
            "hint": .init(hint.map { PrintedCommand.completed($0) }),
            "projection": .init(projection), "key": .init(key), "event": .init(event),
            "remote": .init(remote), "retryAt": .init(retryAt.map(TimeArgument.text)),
        ]
    }
}
