internal import Tapedeck

/// The events that a user may append; some types are recorded only by commands.
enum AppendableEvents {
    /// The commands that record the remaining types, and hints on how to call them.
    private static let commands: [String: (command: String, hint: String)] = [
        "RemoteAdded": ("storectl remote add", "storectl remote add NAME SYSTEM URL"),
        "RemoteListToggled": (
            "storectl sync --list", "storectl sync NAME --list LIST"
        ),
        "RemoteLoginsEnded": (
            "storectl logout --everywhere",
            "storectl logout NAME --everywhere, for a remote with Shelby's v1 API"
        ),
        "RemoteRemoved": ("storectl remote remove", "storectl remote remove NAME"),
        "OutcomeRecorded": (
            "storectl sync and storectl outbox",
            "storectl outbox retry EVENT, or storectl outbox drop EVENT"
        ),
        "IntentClaimed": ("storectl sync", "storectl sync NAME records it when needed"),
        "FeedRead": ("storectl sync", "storectl sync NAME records it when needed"),
        "OriginForked": ("storectl sync", "storectl sync URL records it when needed"),
    ]

    /// Creates a proposal; see `EventCatalogue.proposal`.
    ///
    /// - Throws: `ModelError`, with the code `.unknownType` also for types that only commands
    ///   record.
    static func proposal(
        type: String, json: [UInt8], atMilliseconds: UInt64?
    ) throws(ModelError) -> ProposedEvent {
        if let (command, hint) = commands[type] {
            throw ModelError(
                .unknownType, "\(type) is recorded by \(command) and cannot be appended",
                hint: hint)
        }
        return try EventCatalogue.video.proposal(
            type: type, json: json, atMilliseconds: atMilliseconds)
    }
}
