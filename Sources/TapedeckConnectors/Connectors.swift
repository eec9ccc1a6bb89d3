public import TapedeckProjections
public import TapedeckSync
package import TapedeckVideo

/// All connectors of this program, and the projections they need.
public enum Connectors {
    /// The systems that `storectl remote add` accepts.
    public static let systems: [String] = [
        Shelby.system, TVmaze.system, Whale.system, BirdTube.system,
    ]

    /// Returns the connector of a system at an address; nil if the system is unknown.
    ///
    /// For Shelby, an address ending in `/v1` selects the 2012–2014 API; any other address
    /// selects v2.
    ///
    /// - Parameters:
    ///   - parts: The parts of the system to read.
    ///   - blobs: The store that contains the files to upload.
    package static func named(
        _ system: String, url: String = "", parts: [String] = [],
        projections: VideoProjections = .standard, blobs: BlobStore? = nil
    ) -> (any Connector)? {
        switch system {
        case Shelby.system where hasLists(system, url: url):
            ShelbyV1Connector(projections, lists: parts)
        case Shelby.system: ShelbyConnector(projections, url: url)
        case TVmaze.system: TVmazeConnector(schedules: parts)
        case Whale.system: WhaleConnector(projections, blobs: blobs)
        case BirdTube.system: BirdTubeConnector(projections)
        default: nil
        }
    }

    /// Returns whether the user can choose which schedules are read from a system.
    package static func hasSchedules(_ system: String) -> Bool { system == TVmaze.system }

    /// Returns whether the user can choose which lists are read from a system at an address.
    package static func hasLists(_ system: String, url: String) -> Bool {
        system == Shelby.system && url.hasSuffix("/v1")
    }

    /// Validates and normalizes the parts to read from a remote: the schedules of TVmaze, or the
    /// lists of Shelby's API v1.
    ///
    /// Throws `SyncError` with `.usage` if a part is unknown, if there are too many parts, or if
    /// `parts` is not empty and the remote has no parts.
    static func parts(
        of system: String, url: String, _ parts: [String]
    ) throws(SyncError) -> [String] {
        if hasSchedules(system) { return try TVmazeSchedule.read(parts).map(\.name) }
        if hasLists(system, url: url) { return try ShelbyV1Feed.lists(parts) }
        guard parts.isEmpty else {
            throw SyncError(
                .usage, "\(system) has no schedules", hint: "leave --schedule out")
        }
        return []
    }

    /// The maximum age at which a `VideoWatched` or a `VisitStarted` is still sent to a remote.
    ///
    /// A remote records the time at which it receives a view or a visit as the time of the view or
    /// the visit. Old views and visits would therefore get the wrong time, and a newly added remote
    /// would receive years of them.
    public static let watchedAgeMax = Duration.seconds(7 * 86_400)

    /// The outboxes for intents, one for each tag kind.
    public static let outboxes: [Outbox] = [
        Outbox(
            of: "video",
            inserts: [
                CommentPosted.eventType, VideoShared.eventType, VideoOpened.eventType,
                ChatMessagePosted.eventType, VideoWatched.eventType,
            ],
            registers: [
                LikeToggled.eventType, WatchLaterToggled.eventType,
                // A new submission after a refusal replaces the refused submission.
                VideoSubmitted.eventType,
            ], lifetimes: [VideoWatched.eventType: watchedAgeMax]),
        Outbox(
            of: "answer", inserts: [CommentPosted.eventType], registers: [LikeToggled.eventType]),
        // A question has one answer. If there are several unsent recordings, only the last is sent.
        Outbox(of: "question", inserts: [], registers: [AnswerRecorded.eventType]),
        Outbox(
            of: "user", inserts: [QuestionAsked.eventType, ProfileEdited.eventType],
            registers: [FollowToggled.eventType],
            // One user's follow does not replace another user's.
            owners: [FollowToggled.eventType: FollowToggled.followerField]),
        Outbox(
            of: "account", inserts: [VisitStarted.eventType], registers: [],
            lifetimes: [VisitStarted.eventType: watchedAgeMax]),
    ]

    /// Returns the connection through which a session looks up the store's account and the parts of
    /// the remote that it has to read.
    package static func connection(
        with remote: Remote, _ runner: ProjectionRunner,
        _ projections: VideoProjections = .standard, blobs: BlobStore? = nil
    ) -> RemoteConnection {
        RemoteConnection(
            account: {
                try runner.read([projections.accounts.name]) {
                    try owner(at: remote, VideoQueries($0, projections: projections))
                }
            },
            signIns: {
                try runner.read([projections.accounts.name]) {
                    try VideoQueries($0, projections: projections).signIns(at: remote.system)
                }
            },
            remote: {
                let known = try runner.read([Remotes().name]) { try Remotes.all($0) }
                return known.first {
                    ($0.name, $0.system, $0.url) == (remote.name, remote.system, remote.url)
                }
            },
            connector: { remote in
                Connectors.named(
                    remote.system, url: remote.url, parts: remote.parts, projections: projections,
                    blobs: blobs)
            })
    }

    /// Returns the account on a remote that the store belongs to; nil before the first login.
    ///
    /// Throws `SyncFailure` with `.conditionFailed` if the store may belong to several accounts; see
    /// `VideoQueries.owners`.
    static func owner(
        at remote: Remote, _ queries: VideoQueries<some ViewReader>
    ) throws -> String? {
        let owners = try queries.owners(at: remote.system)
        guard let own = owners.first else { return nil }
        guard owners.count > 1 else { return own.account }
        throw SyncFailure(
            .conditionFailed,
            "devices with different logins on \(own: remote.name) have synced with each other: "
                + "\(owners.map(\.shown).joined(separator: " and "))",
            hint: "choose the account that the store shall belong to, and run storectl login "
                + "\(remote.name) --replace as this account on each device; changes that were made "
                + "with another account are never sent (storectl outbox lists them)")
    }

    /// The projections that syncing with remotes needs, in addition to the domain's projections.
    public static let projections: [any Projection] =
        [Remotes(), FeedCoverage(), ShelbyFrames(), ChannelBroadcasts()] + outboxes
}
