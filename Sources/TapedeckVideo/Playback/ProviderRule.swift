/// A rule that determines from a video's provider and id alone whether the video can be played.
///
/// The rules are those of Shelby's two clients. The rules need no network.
public enum ProviderRule: String, Sendable, CaseIterable {
    /// The rule of the 2012 app: Vimeo videos are judged by the form of their ids, YouTube is
    /// asked, and other providers are unsupported.
    case shelby2012
    /// The rule of the 2013 and 2014 apps: YouTube and Dailymotion videos are playable, and so are
    /// Vimeo videos whose ids have at least six characters.
    case shelby2013

    /// A rule's judgement of a video.
    public enum Judgement: Hashable, Sendable {
        /// The finding is known without a request.
        case finding(PlayabilityFinding)
        /// The provider has to be asked; see `YouTubeEntry`.
        case ask
    }

    /// The 2013 apps played a Vimeo video only if its id had at least this number of characters.
    public static let vimeoIDCountMin = 6

    /// Judges a video.
    public func judge(_ video: VideoKey) -> Judgement {
        guard video.isWellFormed else {
            return .finding(.unplayable(reason: ProviderRule.malformed))
        }
        return switch (self, video.provider) {
        case (.shelby2012, "youtube"): .ask
        case (.shelby2012, "vimeo"):
            // The 2012 app played only videos whose ids are 32-bit integers in their usual decimal
            // form.
            Int32(video.id).map(String.init) == video.id
                ? .finding(.playable) : .finding(.unplayable(reason: ProviderRule.malformed))
        case (.shelby2013, "youtube"), (.shelby2013, "dailymotion"): .finding(.playable)
        case (.shelby2013, "vimeo"):
            video.id.utf8.count >= ProviderRule.vimeoIDCountMin
                ? .finding(.playable) : .finding(.unplayable(reason: ProviderRule.malformed))
        default: .finding(.unplayable(reason: "unsupported-provider"))
        }
    }

    /// The reason why a video with an id that its provider cannot have given is unplayable.
    static let malformed = "malformed-id"
}

/// YouTube's information about whether a video can be played on other sites.
public struct YouTubeEntry: Hashable, Sendable {
    /// Whether other sites may show a video.
    public enum Syndication: Hashable, Sendable {
        case allowed, limited, denied
    }

    /// Whether other sites may show the video.
    public var syndication: Syndication
    /// Whether the video is a live event.
    public var isLive: Bool

    /// Creates an entry.
    public init(syndication: Syndication, isLive: Bool = false) {
        self.syndication = syndication
        self.isLive = isLive
    }

    /// Returns the finding for an entry, or a failed check if there is no entry because YouTube
    /// could not be reached.
    ///
    /// If YouTube could not be reached, the 2012 app treated the video as permanently unplayable.
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
