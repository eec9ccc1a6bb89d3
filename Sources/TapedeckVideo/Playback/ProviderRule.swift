/// Whether a video can be played, judged by its provider and its id there alone.
///
/// The rules are those of Shelby's two clients. They need no network, so they answer offline.
public enum ProviderRule: String, Sendable, CaseIterable {
    /// The app of 2012: vimeo by the form of its ids, youtube by its entry there, nothing else.
    case shelby2012
    /// The apps of 2013 and 2014: youtube and dailymotion, and vimeo with ids of six characters or more.
    case shelby2013

    /// What a rule says of a video.
    public enum Judgement: Hashable, Sendable {
        /// This, without asking anybody.
        case finding(PlayabilityFinding)
        /// Its provider has to be asked; see `YouTubeEntry`.
        case ask
    }

    /// The fewest characters of a vimeo id that the apps of 2013 played.
    public static let vimeoIDCountMin = 6

    /// Judges a video.
    public func judge(_ video: VideoKey) -> Judgement {
        switch (self, video.provider) {
        case (.shelby2012, "youtube"): .ask
        case (.shelby2012, "vimeo"):
            // A plain number of 32 bits, written as such a number is.
            Int32(video.id).map(String.init) == video.id
                ? .finding(.playable) : .finding(.unplayable(reason: "malformed-id"))
        case (.shelby2013, "youtube"), (.shelby2013, "dailymotion"): .finding(.playable)
        case (.shelby2013, "vimeo"):
            video.id.utf8.count >= ProviderRule.vimeoIDCountMin
                ? .finding(.playable) : .finding(.unplayable(reason: "malformed-id"))
        default: .finding(.unplayable(reason: "unsupported-provider"))
        }
    }
}

/// What youtube's entry of a video says of playing it elsewhere.
public struct YouTubeEntry: Hashable, Sendable {
    /// Whether other sites may show the video.
    public enum Syndication: Hashable, Sendable {
        case allowed, limited, denied
    }

    /// Whether other sites may show it.
    public var syndication: Syndication
    /// Whether it is an event that goes on now.
    public var isLive: Bool

    /// Makes an entry.
    public init(syndication: Syndication, isLive: Bool = false) {
        self.syndication = syndication
        self.isLive = isLive
    }

    /// What follows from the entry of a video; from none, as its provider could not be asked, only that
    /// the check has failed.
    ///
    /// The app of 2012 took a failure for "cannot be played", and kept that for good.
    public static func finding(_ entry: YouTubeEntry?) -> PlayabilityFinding {
        guard let entry else { return .failed(reason: "unreachable") }
        if entry.isLive { return .unplayable(reason: "live") }
        return switch entry.syndication {
        case .allowed: .playable
        case .limited: .unplayable(reason: "syndication-limited")
        case .denied: .unplayable(reason: "syndication-denied")
        }
    }
}
