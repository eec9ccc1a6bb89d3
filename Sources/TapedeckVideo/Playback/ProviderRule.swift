/// A rule that decides whether a video can be played, based only on its provider and its id.
///
/// The rules need no network. `PlayabilityCheck` uses the `standard` rule; the other rules are those
/// of Shelby's two clients.
public enum ProviderRule: String, Sendable, CaseIterable {
    /// YouTube and Vimeo have to be asked, Dailymotion videos are playable, and other providers are
    /// unsupported.
    ///
    /// Dailymotion's oEmbed endpoint answers only callers with a registered player
    /// (https://developers.dailymotion.com/docs/embed-with-oembed: `player` is mandatory), so
    /// Dailymotion videos are judged as in the 2013 apps.
    case standard
    /// The rule of the 2012 app: Vimeo videos are judged by the form of their ids, YouTube has to
    /// be asked, and other providers are unsupported.
    case shelby2012
    /// The rule of the 2013 and 2014 apps: YouTube and Dailymotion videos are playable, and so are
    /// Vimeo videos whose ids have at least six characters.
    case shelby2013

    /// A rule's judgement of a video.
    public enum Judgement: Hashable, Sendable {
        /// The finding is known without a request.
        case finding(PlayabilityFinding)
        /// The provider has to be asked; see `PlayabilityCheck`.
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
        case (.standard, "youtube"), (.standard, "vimeo"): .ask
        case (.standard, "dailymotion"): .finding(.playable)
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

    /// The reason recorded for a video that is unplayable because its provider cannot have issued
    /// its id.
    static let malformed = "malformed-id"
}
