public import TapedeckProjections
public import TapedeckSync
package import TapedeckVideo

/// Every connector of this program, and the projections that they need.
public enum Connectors {
    /// The systems that `storectl remote add` knows.
    public static let systems: [String] = ["shelby"]

    /// The connector of a system at an address; nil for a system that there is none for.
    ///
    /// The address of a Shelby ends in `/v1` where it is that of 2012 to 2014; any other speaks v2.
    package static func named(
        _ system: String, url: String = "", projections: VideoProjections = .standard
    ) -> (any Connector)? {
        switch system {
        case "shelby" where url.hasSuffix("/v1"): ShelbyV1Connector(projections)
        case "shelby": ShelbyConnector(projections, url: url)
        default: nil
        }
    }

    /// What the user wants of remotes, by the kinds of keys under which it lies.
    public static let outboxes: [Outbox] = [
        Outbox(
            of: "video", inserts: [CommentPosted.eventType, VideoShared.eventType],
            registers: [
                LikeToggled.eventType, VideoWatched.eventType, WatchLaterToggled.eventType,
            ])
    ]

    /// The projections that a store needs which syncs with remotes, beside those of the domain.
    public static let projections: [any Projection] = [Remotes(), ShelbyFrames()] + outboxes
}
