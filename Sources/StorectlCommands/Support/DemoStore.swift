internal import Tapedeck

/// Sample activity, and the mark that identifies stores with sample activity.
///
/// The mark is a tag on each sample event, so every backup, copy and export contains it. A command
/// that syncs must check `isMarked` first, because samples must not reach other devices.
enum DemoStore {
    /// A sample event: its type, the time at which it happened, and its payload as JSON.
    typealias Sample = (type: String, at: String, payload: String)

    /// The tag of all samples.
    static let tagText = "demo/sample"

    /// Returns whether a log contains samples.
    static func isMarked(_ log: EventLog) throws -> Bool {
        try !log.events(after: .start, limit: 1, tag: Tag(tagText)).isEmpty
    }

    /// Throws `CommandError` if a log contains samples.
    static func refuse(_ log: EventLog) throws {
        guard try !isMarked(log) else {
            throw CommandError(
                .usage, "a store with sample activity never syncs",
                hint: "use --store to name a store that was created without --demo")
        }
    }

    /// Returns the events of a demo store.
    static func events() throws -> [ProposedEvent] {
        let mark = try Tag(tagText)
        return try samples.map { sample in
            var proposal = try EventCatalogue.video.proposal(
                type: sample.type, json: sample.payload,
                atMilliseconds: TimeArgument.readEvent(sample.at))
            proposal.tags.append(mark)
            return proposal
        }
    }
}
