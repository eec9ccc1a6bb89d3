internal import CLibXML2
public import TapedeckModel
public import TapedeckVideo

/// What a page of YouTube says of its video: which it is, its title and its still picture.
///
/// ```swift
/// let page = try YouTubePage(html: bytes)
/// let submit = try SubmitVideo(page.video.text, title: page.title, thumbnail: page.thumbnail)
/// ```
///
/// Reading is pure. Pages have told it in other ways over the years; the first that is there counts:
///
/// | what | where |
/// |---|---|
/// | video | `meta itemprop=videoId` (to 2018), `meta itemprop=identifier`, `link rel=canonical`, `og:url` |
/// | title | `meta itemprop=name`, of which later ones name the channel, `og:title` |
/// | picture | `link itemprop=thumbnailUrl`, `og:image` |
public struct YouTubePage: Hashable, Sendable {
    /// The video.
    public let video: VideoKey
    /// Its title, with entities decoded; nil where the page has none.
    public let title: String?
    /// Where its still picture is; nil where the page does not tell.
    public let thumbnail: String?

    /// The largest page that is read, in bytes.
    public static let bytesMax = 16_777_216
    /// How many letters the id of a video has.
    private static let idCount = 11

    /// Reads the page, which is UTF-8; bytes that are not are repaired.
    ///
    /// Throws `ModelError`: `.invalidVideo` for a page that has no video, such as a channel's, and for what is
    /// no page at all; `.tooLarge` beyond `bytesMax`.
    public init(html: [UInt8]) throws(ModelError) {
        guard html.count <= YouTubePage.bytesMax else {
            throw ModelError(
                .tooLarge,
                "a page of \(html.count) bytes; the limit is \(YouTubePage.bytesMax)")
        }
        var facts = PageFacts()
        HTMLElements.forEach(named: ["meta", "link"], in: html) { facts.add($0) }
        guard let video = facts.ids.lazy.compactMap(YouTubePage.key(of:)).first else {
            throw ModelError(
                .invalidVideo, "the page has no video of YouTube",
                hint: "give the page on which the video is watched")
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

/// What the head of a page tells, the preferred first.
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

    /// Takes what an element tells; of equal ones the first counts.
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
