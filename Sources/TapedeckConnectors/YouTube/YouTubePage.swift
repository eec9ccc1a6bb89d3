internal import CLibXML2
public import TapedeckModel
public import TapedeckVideo

/// The video on a YouTube page: its key, its title and its thumbnail.
///
/// ```swift
/// let page = try YouTubePage(html: bytes)
/// let submit = try SubmitVideo(page.video.text, title: page.title, thumbnail: page.thumbnail)
/// ```
///
/// Parsing has no side effects. The markup has changed over the years, so each value is taken from
/// the first of these elements that the page contains:
///
/// | what | where |
/// |---|---|
/// | video | `meta itemprop=videoId` (until 2018), `meta itemprop=identifier`, `link rel=canonical`, `og:url` |
/// | title | the first `meta itemprop=name` (later elements name the channel), `og:title` |
/// | picture | `link itemprop=thumbnailUrl`, `og:image` |
public struct YouTubePage: Hashable, Sendable {
    /// The video.
    public let video: VideoKey
    /// The title, with entities decoded; nil if the page has none.
    public let title: String?
    /// The URL of the thumbnail; nil if the page has none.
    public let thumbnail: String?

    /// The size limit of a page, in bytes.
    public static let bytesMax = 16_777_216
    /// The length of a YouTube video id, in characters.
    private static let idCount = 11

    /// Parses a page in UTF-8; invalid bytes are repaired.
    ///
    /// Throws `ModelError`: `.invalidVideo` for a page without a video, such as a channel page, or
    /// for input that is not a page; `.tooLarge` if the page is longer than `bytesMax`.
    public init(html: [UInt8]) throws(ModelError) {
        guard html.count <= YouTubePage.bytesMax else {
            throw ModelError(
                .tooLarge,
                "the page is \(html.count) bytes long; the limit is \(YouTubePage.bytesMax)")
        }
        var facts = PageFacts()
        HTMLElements.forEach(named: ["meta", "link"], in: html) { facts.add($0) }
        guard let video = facts.ids.lazy.compactMap(YouTubePage.key(of:)).first else {
            throw ModelError(
                .invalidVideo, "the page does not name a YouTube video",
                hint: "use the page that plays the video")
        }
        self.video = video
        title = facts.titles.first
        thumbnail = facts.thumbnails.first
    }

    private static func key(of candidate: PageFacts.ID) -> VideoKey? {
        let key: VideoKey? =
            switch candidate {
            case .id(let id): try? VideoKey(provider: "youtube", id: id)
            case .address(let url): try? VideoKey(url)
            }
        return key.flatMap { $0.provider == "youtube" && $0.id.utf8.count == idCount ? $0 : nil }
    }
}

/// The facts from the head of a page, best source first.
private struct PageFacts {
    enum ID {
        case id(String)
        case address(String)
    }

    private var byID: [Int: ID] = [:]
    private var byTitle: [Int: String] = [:]
    private var byThumbnail: [Int: String] = [:]

    var ids: [ID] { byID.sorted { $0.key < $1.key }.map(\.value) }
    var titles: [String] { byTitle.sorted { $0.key < $1.key }.map(\.value) }
    var thumbnails: [String] { byThumbnail.sorted { $0.key < $1.key }.map(\.value) }

    /// Reads an element; only the first value for each source is kept.
    mutating func add(_ element: HTMLElement) {
        if element.name == "meta" {
            guard let content = element.text("content") else { return }
            switch element.text("itemprop") ?? element.text("property") {
            case "videoId": byID.setOnce(0, .id(content))
            case "identifier": byID.setOnce(1, .id(content))
            case "og:url": byID.setOnce(3, .address(content))
            case "name": byTitle.setOnce(0, content)
            case "og:title": byTitle.setOnce(1, content)
            case "og:image": byThumbnail.setOnce(1, content)
            default: break
            }
        } else if let href = element.text("href") {
            if element.text("rel") == "canonical" { byID.setOnce(2, .address(href)) }
            if element.text("itemprop") == "thumbnailUrl" { byThumbnail.setOnce(0, href) }
        }
    }
}

extension [Int: PageFacts.ID] {
    fileprivate mutating func setOnce(_ rank: Int, _ value: PageFacts.ID) {
        if self[rank] == nil { self[rank] = value }
    }
}

extension [Int: String] {
    fileprivate mutating func setOnce(_ rank: Int, _ value: String) {
        if self[rank] == nil { self[rank] = value }
    }
}
