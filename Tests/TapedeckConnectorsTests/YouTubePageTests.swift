import Foundation
import TapedeckConnectors
import TapedeckModel
import TapedeckVideo
import Testing

/// YouTube pages in the formats used over several years, and pages without a video.
@Suite struct YouTubePageTests {
    private func page(_ html: String) throws -> YouTubePage {
        try YouTubePage(html: Array(html.utf8))
    }

    private func checkNoVideo(
        _ html: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: ModelError.self, sourceLocation: sourceLocation) {
            try page(html)
        }
        #expect(error?.code == .invalidVideo, sourceLocation: sourceLocation)
    }

    @Test func pagesOf2014AreReadByVideoID() throws {
        let found = try page(
            """
            <!DOCTYPE html><html><head><title>Bunny - YouTube</title>
            <link rel="canonical" href="http://www.youtube.com/watch?v=other0other">
            <meta property="og:title" content="Not this">
            </head><body><div itemscope itemtype="http://schema.org/VideoObject">
            <meta itemprop="name" content="B&uuml;ck &amp; Bunny &#9654; &quot;&#x1F430;&quot; — ウサギ">
            <meta itemprop="videoId" content="aqz-KE-bpKQ">
            <link itemprop="thumbnailUrl" href="https://i1.ytimg.com/vi/aqz-KE-bpKQ/hq.jpg?a=1&amp;b=2">
            <meta itemprop="name" content="Blender">
            </div></body></html>
            """)
        #expect(found.video.text == "youtube:aqz-KE-bpKQ")
        #expect(found.title == "Bück & Bunny ▶ \"🐰\" — ウサギ")
        #expect(found.thumbnail == "https://i1.ytimg.com/vi/aqz-KE-bpKQ/hq.jpg?a=1&b=2")
    }

    @Test func pagesOf2024AreReadByIdentifier() throws {
        let found = try page(
            """
            <html><body><script>var a = '<meta itemprop="videoId" content="script00000">';</script>
            <meta itemprop="name" content="Falcon Heavy &amp; Starman">
            <meta itemprop="identifier" content="A0FZIwabctw"><span itemprop="author">
            <link itemprop="name" content="SpaceX"></span>
            <link itemprop="thumbnailUrl" href="https://i.ytimg.com/vi/A0FZIwabctw/max.jpg">
            """)
        #expect(found.video.id == "A0FZIwabctw")
        #expect(found.title == "Falcon Heavy & Starman")
        #expect(found.thumbnail == "https://i.ytimg.com/vi/A0FZIwabctw/max.jpg")
    }

    @Test func headIsReadIfMicrodataIsMissing() throws {
        let found = try page(
            """
            <head><link rel=canonical href="https://www.youtube.com/watch?v=KCyIfcevExE&amp;list=1">
            <META PROPERTY="og:title" CONTENT=" Title "><meta itemprop="name" content=" ">
            <meta property='og:image' content='https://i.ytimg.com/vi/KCyIfcevExE/hq.jpg'>
            """)
        #expect(found.video.text == "youtube:KCyIfcevExE")
        #expect(found.title == "Title")
        #expect(found.thumbnail == "https://i.ytimg.com/vi/KCyIfcevExE/hq.jpg")
        let bare = try page("<link rel=canonical href='https://youtu.be/KCyIfcevExE'>")
        #expect(bare.title == nil && bare.thumbnail == nil)
    }

    @Test func pagesWithoutAVideoAreRefused() {
        checkNoVideo("")
        checkNoVideo("{\"json\":true}")
        checkNoVideo("<html><script>ytplayer = {videoId: 'aqz-KE-bpKQ'}</script></html>")
        // A channel page.
        checkNoVideo(
            """
            <link rel="canonical" href="http://www.youtube.com/user/googlechrome">
            <meta itemprop="name" content="Google Chrome">
            <meta itemprop="identifier" content="UCSqJPLEYGZYnFYvYVyYNkgw">
            <link itemprop="thumbnailUrl" href="https://yt3.ggpht.com/photo.jpg">
            """)
        // A video on another site, and an invalid id.
        checkNoVideo("<link rel=canonical href='https://vimeo.com/1084537'>")
        checkNoVideo("<meta itemprop=videoId content='../../etc/pw'>")
    }

    @Test func hostileBytesDoNotCrashTheReader() throws {
        let meta = Array("<meta itemprop=videoId content=aqz-KE-bpKQ>".utf8)
        let deep = Array(String(repeating: "<div>", count: 200_000).utf8)
        _ = try? YouTubePage(html: deep + meta)
        #expect(try YouTubePage(html: meta + deep).video.id == "aqz-KE-bpKQ")
        #expect(try YouTubePage(html: meta + [0xFF, 0xFE, 0x00, 0xC3]).video.id == "aqz-KE-bpKQ")
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<300 {
            var bytes = meta + Array("<link rel=canonical href='&#1114112;&bogus;'><!--".utf8)
            for _ in 0..<5 {
                let place = Int.random(in: bytes.indices, using: &generator)
                bytes[place] = UInt8.random(in: 0...255, using: &generator)
            }
            _ = try? YouTubePage(html: bytes)
        }
        let long = [UInt8](repeating: 0x20, count: YouTubePage.bytesMax + 1)
        let error = #expect(throws: ModelError.self) { try YouTubePage(html: long) }
        #expect(error?.code == .tooLarge)
    }

    @Test func pagesCanBeSubmitted() throws {
        let page = try page(
            "<meta itemprop=videoId content=aqz-KE-bpKQ><meta itemprop=name content=A>")
        let submit = try SubmitVideo(page.video.text, title: page.title, thumbnail: page.thumbnail)
        #expect(submit.submission.video == "youtube:aqz-KE-bpKQ")
        #expect(submit.submission.title == "A" && !submit.submission.hasThumbnail)
    }

    // MARK: - Saved pages

    private static let saved: [(file: String, id: String?, title: String?, thumbnail: String?)] = [
        (
            "watch-21Lk4YiASMo-2014", "21Lk4YiASMo", "96neko - orange",
            "https://i1.ytimg.com/vi/21Lk4YiASMo/hqdefault.jpg"
        ),
        (
            "watch-rXyKq7izYCQ-2018", "rXyKq7izYCQ",
            "Neil DeGrasse Tyson Comments on SpaceXs Falcon Heavy Launch",
            "https://i.ytimg.com/vi/rXyKq7izYCQ/hqdefault.jpg"
        ),
        (
            "watch-A0FZIwabctw-2024", "A0FZIwabctw", "Falcon Heavy & Starman",
            "https://i.ytimg.com/vi/A0FZIwabctw/maxresdefault.jpg"
        ),
        (
            "watch-EAZvxukW8kY-playlist-2024", "EAZvxukW8kY",
            "Marine Biologist - Career Spotlight",
            "https://i.ytimg.com/vi/EAZvxukW8kY/hqdefault.jpg"
        ),
        ("channel-googlechrome-2014", nil, nil, nil),
        ("embed-no-microdata-2020", "KCyIfcevExE", nil, nil),
    ]

    @Test(
        .enabled("the saved pages are missing") {
            FileManager.default.fileExists(
                atPath: Fixtures.folder.appendingPathComponent("youtube").path)
        }, arguments: saved.indices)
    func savedPagesAreRead(_ index: Int) throws {
        let (name, id, title, thumbnail) = Self.saved[index]
        let file = Fixtures.folder.appendingPathComponent("youtube/\(name).html")
        let html = Array(try Data(contentsOf: file))
        guard let id else {
            let error = #expect(throws: ModelError.self) { try YouTubePage(html: html) }
            #expect(error?.code == .invalidVideo)
            return
        }
        let page = try YouTubePage(html: html)
        #expect(page.video.text == "youtube:\(id)")
        #expect(page.title == title)
        #expect(page.thumbnail == thumbnail)
    }
}
