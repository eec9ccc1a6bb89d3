internal import Synchronization
internal import Tapedeck

/// The lines of a live sync: what is still so is not said again.
final class LiveLines: Sendable {
    private let isJSON: Bool
    private let last = Mutex("")

    init(isJSON: Bool) { self.isJSON = isJSON }

    /// Says how it stands.
    ///
    /// - Parameter repeatsJSON: whether documents are printed also where they are no news.
    func say(_ text: String, _ document: JSON, repeatsJSON: Bool = false) {
        let isNews = last.withLock { last in
            defer { last = text }
            return last != text
        }
        guard isNews || isJSON && repeatsJSON else { return }
        // A reader that has gone away is noticed at the report in the end.
        try? StandardOutput.line(isJSON ? document.line : text)
    }

    /// Says that it waits.
    ///
    /// - Parameter until: in Unix milliseconds; 0 where nobody knows.
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
