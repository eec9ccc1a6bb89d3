internal import Tapedeck

/// The sample activity of a demo store.
enum DemoStore {
    /// A sample event: its type, the time at which it happened, and its payload as JSON.
    typealias Sample = (type: String, at: String, payload: String)

    /// Returns the events of a demo store.
    static func events() throws -> [ProposedEvent] {
        try samples.map { sample in
            var proposal = try EventCatalogue.video.proposal(
                type: sample.type, json: sample.payload,
                atMilliseconds: TimeArgument.readEvent(sample.at))
            proposal.tags.append(EventLog.sampleTag)
            return proposal
        }
    }
}
