public import TapedeckProjections
public import TapedeckSync
package import TapedeckVideo

/// Every connector of this program, and the projections that they need.
public enum Connectors {
    /// The systems that `storectl remote add` knows.
    public static let systems: [String] = [
        Shelby.system, TVmaze.system, Whale.system, BirdTube.system,
    ]

    /// The connector of a system at an address; nil for a system that there is none for.
    ///
    /// The address of a Shelby ends in `/v1` where it is that of 2012 to 2014; any other speaks v2.
    ///
    /// - Parameters:
    ///   - parts: what of it is read.
    ///   - blobs: where what is to be uploaded lies.
    package static func named(
        _ system: String, url: String = "", parts: [String] = [],
        projections: VideoProjections = .standard, blobs: BlobStore? = nil
    ) -> (any Connector)? {
        switch system {
        case Shelby.system where url.hasSuffix("/v1"): ShelbyV1Connector(projections)
        case Shelby.system: ShelbyConnector(projections, url: url)
        case TVmaze.system: TVmazeConnector(schedules: parts)
        case Whale.system: WhaleConnector(projections, blobs: blobs)
        case BirdTube.system: BirdTubeConnector(projections)
        default: nil
        }
    }

    /// What of a system is to be read, as it stands in the log: the schedules of TVmaze.
    ///
    /// Throws `SyncError` with `.usage` for what the system does not have, and where it has no parts.
    static func parts(of system: String, _ parts: [String]) throws(SyncError) -> [String] {
        if system == TVmaze.system { return try TVmazeSchedule.read(parts).map(\.name) }
        guard parts.isEmpty else {
            throw SyncError(
                .usage, "\(system) has no schedules", hint: "leave --schedule out")
        }
        return []
    }

    /// What the user wants of remotes, by the kinds of keys under which it lies.
    public static let outboxes: [Outbox] = [
        Outbox(
            of: "video",
            inserts: [
                CommentPosted.eventType, VideoShared.eventType, VideoOpened.eventType,
                ChatMessagePosted.eventType,
            ],
            registers: [
                LikeToggled.eventType, VideoWatched.eventType, WatchLaterToggled.eventType,
                // One that is made behind a refusal takes its place.
                VideoSubmitted.eventType,
            ]),
        Outbox(
            of: "answer", inserts: [CommentPosted.eventType], registers: [LikeToggled.eventType]),
        // A question has one answer: of several recordings that were not sent the last one counts.
        Outbox(of: "question", inserts: [], registers: [AnswerRecorded.eventType]),
        Outbox(
            of: "user", inserts: [QuestionAsked.eventType, ProfileEdited.eventType],
            registers: [FollowToggled.eventType],
            // What one user wants does not replace what another one does.
            owners: [FollowToggled.eventType: FollowToggled.followerField]),
    ]

    /// What a store says of a remote while a session with it goes on.
    package static func connection(
        with remote: Remote, _ runner: ProjectionRunner, _ projections: VideoProjections = .standard
    ) -> RemoteConnection {
        RemoteConnection(
            account: {
                try runner.read([projections.accounts.name]) {
                    try VideoQueries($0, projections: projections).ownAccount(at: remote.system)?
                        .account
                }
            },
            isThere: {
                let known = try runner.read([Remotes().name]) { try Remotes.all($0) }
                return known.contains {
                    ($0.name, $0.system, $0.url) == (remote.name, remote.system, remote.url)
                }
            })
    }

    /// The projections that a store needs which syncs with remotes, beside those of the domain.
    public static let projections: [any Projection] = [Remotes(), ShelbyFrames()] + outboxes
}
