/// How to find out whether a video can be played: from its key alone, or by asking its provider.
///
/// ```swift
/// for video in try queries.checksDue(at: now, limit: 10) {
///     let check = PlayabilityCheck(video)
///     let finding: PlayabilityFinding
///     switch check {
///     case .finding(let known): finding = known
///     case .ask(let url):
///         let (status, body) = try await get(url)
///         finding = check.finding(status: status, body: body)
///     }
///     try await store.decide(VideoProjections.standard.playability, key: video.tag) {
///         try CheckPlayability(video, finding, now: now).decide($0)
///     }
/// }
/// ```
///
/// `VideoQueries.checksDue` returns the videos to check, and `CheckPlayability` records the
/// findings. The caller makes the requests. If there is no answer, the finding is `.failed`, with a
/// reason such as `unreachable` or `timeout`.
///
/// Providers are asked through oEmbed (https://oembed.com), which needs no account and answers only
/// for videos that other sites may embed. The 2012 app asked YouTube's GData API, which no longer
/// exists.
public enum PlayabilityCheck: Hashable, Sendable {
    /// `ProviderRule.standard` determines the finding; no request is needed.
    case finding(PlayabilityFinding)
    /// The provider has to be asked: request this URL with GET, and pass the answer to
    /// `finding(status:body:)`.
    case ask(url: String)

    /// Creates the check of a video.
    public init(_ video: VideoKey) {
        switch ProviderRule.standard.judge(video) {
        case .finding(let finding): self = .finding(finding)
        // A well-formed id contains no characters that a URL would have to escape.
        case .ask where video.provider == "youtube":
            self = .ask(
                url: "https://www.youtube.com/oembed?format=json"
                    + "&url=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3D\(video.id)")
        case .ask:
            self = .ask(
                url: "https://vimeo.com/api/oembed.json?url=https%3A%2F%2Fvimeo.com%2F\(video.id)")
        }
    }

    /// The finding that needs no request; nil if the provider has to be asked.
    public var finding: PlayabilityFinding? {
        if case .finding(let finding) = self { finding } else { nil }
    }

    /// The URL at which the provider has to be asked; nil if no request is needed.
    public var url: String? { if case .ask(let url) = self { url } else { nil } }

    /// The age, in milliseconds, at which a provider's finding is checked again.
    ///
    /// The 2012 app never repeated a check, so a deleted video stayed playable. YouTube requires
    /// that data about a video be refreshed or deleted after 30 days
    /// (https://developers.google.com/youtube/terms/developer-policies, III.E.4). A finding that
    /// needed no request never expires.
    public static let findingMilliseconds: Int64 = 30 * 86_400_000

    /// The maximum size of a provider's answer, in bytes; a larger answer is not parsed as oEmbed.
    public static let answerBytesMax = 1 << 20

    /// Returns the finding for a provider's answer; the answer is ignored if no request was needed.
    ///
    /// | answer | finding | source |
    /// |---|---|---|
    /// | 200 with an oEmbed video | playable | |
    /// | 200 with `"domain_status_code": 403` | `embedding-denied` | `vimeo/player.js` |
    /// | 200 with anything else, such as "Forbidden" | failed | `ruby-oembed` issue 79 |
    /// | 401 (YouTube), 403 | `embedding-denied` | `oembed-extractor` issue 168, `player.js` |
    /// | 401, 403 with an HTML page, such as a CAPTCHA | failed | `php-embed/Embed` issue 326 |
    /// | 404 | `gone` | `vimeo/player.js` |
    /// | any other status | failed | |
    ///
    /// The sources are projects on GitHub: `src/lib/embed.js` of Vimeo's own player, and reports
    /// about YouTube (`ruby-oembed/ruby-oembed`, `extractus/oembed-extractor`) and about Vimeo,
    /// which blocks some networks (`php-embed/Embed`).
    public func finding(status: Int, body: [UInt8]) -> PlayabilityFinding {
        if let finding { return finding }
        switch status {
        case 200: return PlayabilityCheck.judge(body)
        case 401, 403:
            return PlayabilityCheck.isPage(body)
                ? .failed(reason: "blocked") : .unplayable(reason: "embedding-denied")
        case 404: return .unplayable(reason: "gone")
        default: return .failed(reason: "status-\(max(0, status))")
        }
    }

    private static func judge(_ body: [UInt8]) -> PlayabilityFinding {
        guard
            case .object(let answer)? = try? JSONParser.parse(body, bytesMax: answerBytesMax),
            case .string("video")? = answer["type"]
        else { return .failed(reason: "unexpected-answer") }
        return answer["domain_status_code"]?.int64 == 403
            ? .unplayable(reason: "embedding-denied") : .playable
    }

    /// Returns whether an answer is an HTML page: its first character is a `<`.
    private static func isPage(_ body: [UInt8]) -> Bool {
        body.first { !VideoKey.isSpace($0) } == UInt8(ascii: "<")
    }
}
