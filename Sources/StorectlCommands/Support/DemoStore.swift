internal import Tapedeck

/// Sample activity, and the mark of the stores that hold it.
///
/// The mark is a tag on each sample, so it goes along into every backup, copy and export. Whatever
/// syncs must ask `isMarked` first: what was made up is not for other devices.
enum DemoStore {
    /// An event that is made up: its type, when it happened, its payload as JSON.
    typealias Sample = (type: String, at: String, payload: String)

    /// The tag of everything that was made up.
    static let tagText = "demo/sample"

    /// Whether samples are among the events of a log.
    static func isMarked(_ log: EventLog) throws -> Bool {
        try !log.events(after: .start, limit: 1, tag: Tag(tagText)).isEmpty
    }

    /// Refuses a log with samples.
    static func refuse(_ log: EventLog) throws {
        guard try !isMarked(log) else {
            throw CommandError(
                .usage, "a store with sample activity never syncs",
                hint: "name another with --store; storectl init without --demo makes one")
        }
    }

    /// Records the samples and says how many there are.
    static func fill(_ log: EventLog) throws -> Int {
        let mark = try Tag(tagText)
        let proposals = try samples.map { sample in
            var proposal = try EventCatalogue.video.proposal(
                type: sample.type, json: sample.payload,
                atMilliseconds: TimeArgument.readEvent(sample.at))
            proposal.tags.append(mark)
            return proposal
        }
        try log.appendBlocking(proposals)
        return proposals.count
    }
}
