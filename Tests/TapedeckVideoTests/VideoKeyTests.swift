import TapedeckModel
import TapedeckVideo
import Testing

/// A string and its expected key; nil if the string must be refused.
struct KeyCase: CustomTestStringConvertible {
    let text: String
    let key: String?

    var testDescription: String { "\(text.prefix(60)) → \(key ?? "refused")" }
}

private let id = "dQw4w9WgXcQ"

private func cases(_ key: String?, _ texts: [String]) -> [KeyCase] {
    texts.map { KeyCase(text: $0, key: key) }
}

@Suite struct VideoKeyTests {
    static let youTube = cases(
        "youtube:\(id)",
        [
            "youtube:\(id)", "YouTube:\(id)", "  youtube:\(id)\n",
            "https://www.youtube.com/watch?v=\(id)", "http://www.youtube.com/watch?v=\(id)",
            "https://youtube.com/watch?v=\(id)", "youtube.com/watch?v=\(id)",
            "www.youtube.com/watch?v=\(id)", "//www.youtube.com/watch?v=\(id)",
            "HTTPS://WWW.YouTube.COM/watch?v=\(id)", "https://m.youtube.com/watch?v=\(id)",
            "https://music.youtube.com/watch?v=\(id)&list=RDAMVM\(id)",
            "https://gaming.youtube.com/watch?v=\(id)",
            "https://www.youtube.com:443/watch?v=\(id)", "https://www.youtube.com./watch?v=\(id)",
            "https://www.youtube.com/watch?app=desktop&v=\(id)",
            "https://www.youtube.com/watch?v=\(id)&list=PL0123456789abcdef&index=3",
            "https://www.youtube.com/watch?feature=player_embedded&v=\(id)#t=1m2s",
            "https://www.youtube.com/watch?v=\(id)#t=31",
            "https://www.youtube.com/watch?t=10&v=\(id)",
            "https://www.youtube.com/watch?feature=share&amp;v=\(id)",
            "https://www.youtube.com/watch?v=\(id)?feature=share",
            "https://www.youtube.com/watch?v=\(id)%26feature%3Dshare",
            "https://www.youtube.com/watch?%76=\(id)",
            "https://www.youtube.com/watch?v=%64Qw4w9WgXcQ",
            "https://www.youtube.com/watch/\(id)", "https://www.youtube.com/?v=\(id)",
            "https://www.youtube.com/watch_popup?v=\(id)",
            "https://www.youtube.com/watch#!v=\(id)", "https://www.youtube.com/#/watch?v=\(id)",
            "https://www.youtube.com/#!/watch?v=\(id)&feature=x",
            "https://www.youtube.com/user/GitHub#p/a/u/1/\(id)",
            "https://youtu.be/\(id)", "youtu.be/\(id)", "http://youtu.be/\(id)?t=42",
            "https://youtu.be/\(id)?si=AbCdEfGh", "https://www.youtu.be/\(id)",
            "https://youtu.be/\(id)&feature=channel", "https://youtu.be/watch?v=\(id)",
            "https://www.youtube.com/embed/\(id)", "https://www.youtube.com/embed/\(id)?rel=0",
            "https://www.youtube-nocookie.com/embed/\(id)", "youtube-nocookie.com/embed/\(id)",
            "https://www.youtube.com/embed/?v=\(id)",
            "https://www.youtube.com/v/\(id)", "https://www.youtube.com/v/\(id)?version=3",
            "https://www.youtube.com/v/\(id)&hl=en&fs=1", "https://www.youtube.com/vi/\(id)",
            "https://www.youtube.com/e/\(id)", "https://www.youtube.com/shorts/\(id)",
            "https://youtube.com/shorts/\(id)?feature=share", "https://www.youtube.com/live/\(id)",
            "https://www.youtube.com/live/\(id)?si=x", "https://youtube.googleapis.com/v/\(id)",
            "https://www.youtube.com/attribution_link?a=x&u=%2Fwatch%3Fv%3D\(id)%26feature%3Dshare",
            "https://www.youtube.com/attribution_link?u=/watch?v=\(id)",
            "https://www.youtube.com/oembed?url=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3D\(id)",
            "https://www.youtube.com/oembed?format=json&url=http://youtu.be/\(id)",
            "https://www.google.com/url?sa=t&q=https%3A%2F%2Fyoutu.be%2F\(id)",
            "https://www.google.co.uk/url?url=https://www.youtube.com/watch%3Fv%3D\(id)",
            "https://consent.youtube.com/m?continue=https%3A%2F%2Fyoutu.be%2F\(id)",
            "https://l.facebook.com/l.php?u=https%3A%2F%2Fyoutu.be%2F\(id)&h=AT0",
            "http://i3.ytimg.com/vi/\(id)/hqdefault.jpg",
            "https://i.ytimg.com/vi_webp/\(id)/maxresdefault.webp",
            "https://img.youtube.com/vi/\(id)/0.jpg",
            "https://gdata.youtube.com/feeds/api/videos/\(id)",
            "http://gdata.youtube.com/feeds/api/videos/\(id)/related?v=2",
            "vnd.youtube:\(id)", "vnd.youtube://\(id)?t=3", "youtube://\(id)",
            "youtube://www.youtube.com/watch?v=\(id)", "youtube://watch?v=\(id)",
            "https://user:pass@www.youtube.com/watch?v=\(id)",
        ])

    static let vimeo = cases(
        "vimeo:76979871",
        [
            "vimeo:76979871", "Vimeo:76979871", "https://vimeo.com/76979871", "vimeo.com/76979871",
            "http://www.vimeo.com/76979871", "https://vimeo.com/76979871/8272103f6e",
            "https://vimeo.com/76979871#t=30s", "https://vimeo.com/76979871?share=copy",
            "https://player.vimeo.com/video/76979871", "//player.vimeo.com/video/76979871?h=abc",
            "https://vimeo.com/channels/staffpicks/76979871",
            "https://vimeo.com/channels/staffpicks#76979871",
            "https://vimeo.com/groups/shortfilms/videos/76979871",
            "https://vimeo.com/album/2838732/video/76979871",
            "https://vimeo.com/showcase/2838732/video/76979871",
            "https://vimeo.com/ondemand/alongway/76979871",
            "https://vimeo.com/manage/videos/76979871",
            "https://vimeo.com/user22/review/76979871/ab",
            "https://vimeo.com/moogaloop.swf?clip_id=76979871", "https://vimeo.com/#76979871",
            "https://vimeo.com/api/oembed.json?url=https%3A//vimeo.com/76979871",
            "HTTPS://VIMEO.COM/76979871", "http://vimeo.com/api/v2/video/76979871.json",
            "https://vimeo.com/couchmode/inbox/sort:date/76979871",
            "https://vimeo.com/user22/76979871",
        ])

    static let dailymotion = cases(
        "dailymotion:x7tgad0",
        [
            "dailymotion:x7tgad0", "https://www.dailymotion.com/video/x7tgad0",
            "https://www.dailymotion.com/video/x7tgad0_a-title_news",
            "dailymotion.com/video/x7tgad0",
            "https://dai.ly/x7tgad0", "http://dai.ly/x7tgad0?start=3",
            "https://www.dailymotion.com/embed/video/x7tgad0?autoplay=1",
            "https://www.dailymotion.com/us/video/x7tgad0",
            "https://www.dailymotion.com/swf/x7tgad0",
            "https://www.dailymotion.com/swf/video/x7tgad0",
            "https://geo.dailymotion.com/player/x1.html?video=x7tgad0",
            "https://www.dailymotion.com/playlist/x5v#video=x7tgad0",
        ])

    static let others =
        cases("blip:ABC/12", ["blip:ABC/12", "BLIP:ABC/12"])
        // The format of these ids is up to their providers.
        + cases("youtube:one", ["youtube:one"]) + cases("hulu:1.2.3", ["hulu:1.2.3"])

    static let refused = cases(
        nil,
        [
            "", " ", "\n", ":", "youtube:", "youtube: ", ":\(id)", "youtube", id, "youtube:a b",
            "vimeo:", "http:\(id)", "youtube:watch?v=\(id)", "youtube:\(id)&feature=share",
            "javascript:alert(1)", "data:text/html,x", "https://", "https:///watch?v=\(id)",
            "https://www.youtube.com/", "https://www.youtube.com/watch",
            "https://www.youtube.com/watch?v=", "https://www.youtube.com/watch?v=short",
            "https://www.youtube.com/watch?v=\(id)toolong",
            "https://www.youtube.com/playlist?list=PLabcdefghijk",
            "https://www.youtube.com/channel/UC_x5XG1OV2P6uZZ5FSM9Ttw",
            "https://www.youtube.com/@GoogleDevelopers", "https://www.youtube.com/user/GitHub",
            "https://www.youtube.com/embed/videoseries?list=PLabcdefghijk",
            "https://www.youtube.com/embed/live_stream?channel=UCabc",
            "https://www.youtube.com/results?search_query=abc", "https://youtu.be/",
            "https://example.com/watch?v=\(id)", "https://notyoutube.com/watch?v=\(id)",
            "https://youtube.com.example.org/watch?v=\(id)",
            "https://www.youtube.com@example.org/watch?v=\(id)", "ftp://youtube.com/watch?v=\(id)",
            "https://vimeo.com/", "https://vimeo.com/user22", "https://vimeo.com/event/76979871",
            "https://vimeo.com/album/2838732", "https://gdata.youtube.com/feeds/api/videos",
            "https://vimeo.com/channels/staffpicks",
            "https://vimeo.com/00123", "https://vimeo.com/12345678901234567890",
            "https://www.dailymotion.com/", "https://www.dailymotion.com/user/x",
            "https://www.dailymotion.com/video/", "youtube:\u{0}\u{1}", "youtube:\u{202E}abc",
            "https://www.youtube.com/watch?v=дQw4w9WgXcQ", "https://www.youtube.com/watch?v=%",
            "https://www.youtube.com/watch?v=%zz", "youtube:" + String(repeating: "a", count: 129),
            String(repeating: "p", count: 33) + ":x", "%%%", "?", "#", "/", "//", "@", "&",
            "https://www.youtube.com/oembed?url=https%3A%2F%2Fwww.youtube.com%2Foembed",
        ])

    @Test(arguments: youTube + vimeo + dailymotion + others)
    func allFormsOfAVideoHaveTheSameKey(_ form: KeyCase) throws {
        #expect(try VideoKey(form.text).text == form.key)
    }

    /// Some remotes list videos under ids that their providers cannot have issued.
    @Test(arguments: [
        ("youtube", "a/b", "youtube:a/b"), ("youtube", "<script>", "youtube:<script>"),
        ("youtube", "a b", "youtube:a%20b"), ("vimeo", "abc", "vimeo:abc"),
        ("vimeo", "012", "vimeo:012"), ("vimeo", "//é", "vimeo:%2F/%C3%A9"),
    ])
    func malformedIDsHaveKeys(_ provider: String, _ id: String, _ text: String) throws {
        let key = try VideoKey(provider: provider, id: id)
        #expect(key.text == text && !key.isWellFormed)
        #expect(try VideoKey(text) == key)
        #expect(try Tag(key.tag.text) == key.tag)
    }

    @Test(arguments: ["&feature=share", "?t=4", "#t=1m"])
    func idsOnYouTubeEndBeforeParameters(_ rest: String) throws {
        let key = try VideoKey(provider: "YouTube", id: id + rest)
        #expect(key.text == "youtube:\(id)" && key.isWellFormed)
        #expect(throws: ModelError.self) { try VideoKey(provider: "youtube", id: rest) }
    }

    @Test(arguments: refused)
    func stringsThatNameNoVideoAreRefused(_ form: KeyCase) {
        let error = #expect(throws: ModelError.self) { try VideoKey(form.text) }
        #expect(error?.code == .invalidVideo)
    }

    @Test func veryLongStringsAreTooLarge() {
        for text in [
            String(repeating: "a", count: 4_097), String(repeating: "%25", count: 5_000_000),
        ] {
            let error = #expect(throws: ModelError.self) { try VideoKey(text) }
            #expect(error?.code == .tooLarge)
        }
    }

    @Test func nestedRedirectsAreLimited() {
        var url = "https://youtu.be/\(id)"
        for _ in 0..<6 { url = "https://www.google.com/url?q=" + url }
        #expect(throws: ModelError.self) { try VideoKey(url) }
    }

    @Test func randomStringsGiveAStableKeyOrAnError() {
        var generator = SeededGenerator(seed: runSeed)
        let alphabet = Array(
            "youtube.com/watch?v=&#%:@12dQw4w9WgXcQ vimeo\u{7F}é\u{0}".unicodeScalars)
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...60, using: &generator)
            var text = String.UnicodeScalarView()
            for _ in 0..<count { text.append(alphabet.randomElement(using: &generator) ?? "a") }
            guard let key = try? VideoKey(String(text)) else { continue }
            #expect((try? VideoKey(key.text)) == key, "TAPEDECK_SEED=\(runSeed)")
        }
    }

    @Test func keysCanBeRestoredFromTheirTags() throws {
        for text in ["youtube:\(id)", "blip:a:b/c"] {
            let key = try VideoKey(text)
            #expect(VideoKey(tag: key.tag) == key)
            #expect(try Tag(key.tag.text) == key.tag)
        }
    }
}
