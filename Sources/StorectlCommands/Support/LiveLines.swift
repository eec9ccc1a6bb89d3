internal import Synchronization
internal import Tapedeck

/// Prints the status lines of a live sync, without repeating an unchanged status.
final class LiveLines: Sendable {
    private let isJSON: Bool
    private let last = Mutex("")

    init(isJSON: Bool) { self.isJSON = isJSON }

    /// Prints the status, unless it is unchanged.
    ///
    /// - Parameter repeatsJSON: Whether JSON documents are printed even if the status is unchanged.
    func say(_ text: String, _ document: JSON, repeatsJSON: Bool = false) {
        let isNew = last.withLock { last in
            defer { last = text }
            return last != text
        }
        guard isNew || isJSON && repeatsJSON else { return }
        // Ignore a failed write: a closed pipe is noticed when the final report is printed.
        try? StandardOutput.line(isJSON ? document.line : text)
    }

    /// Prints that the sync is waiting.
    ///
    /// - Parameter until: The end of the wait in milliseconds since 1970; 0 if it is unknown.
    func say(
        waitingFor reason: ErrorCode, _ message: String, until: UInt64, repeatsJSON: Bool = false
    ) {
        let end = until > 0 ? TimeArgument.text(Int64(clamping: until)) : nil
        say(
            "waiting\(end.map { " until \($0)" } ?? ""): \(message)",
            ["state": "waiting", "reason": .text(reason.rawValue), "until": .init(end)],
            repeatsJSON: repeatsJSON)
    }
}
