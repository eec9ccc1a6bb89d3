extension VideoURL {
    // MARK: - YouTube

    /// The length of a YouTube id.
    private static let youTubeIDCount = 11

    /// Words of eleven characters that may appear instead of an id.
    private static let youTubeWords: Set<String> = ["videoseries", "live_stream"]

    /// Path segments that are followed by an id.
    private static let youTubeFolders: Set<String> = [
        "v", "vi", "e", "embed", "shorts", "live", "watch", "vi_webp", "an_webp", "an",
    ]

    var youTubeID: String? {
        for name in ["v", "vi", "video_id"] {
            if let value = parameter(name), let id = VideoURL.youTubeID(value) { return id }
        }
        if let first = segments.first {
            if isAt("youtu.be"), let id = VideoURL.youTubeID(first) { return id }
            if VideoURL.youTubeFolders.contains(first.lowercased()), segments.count > 1,
                let id = VideoURL.youTubeID(segments[1])
            {
                return id
            }
        }
        // The 2008–2015 API: /feeds/api/videos/ID.
        if segments.first?.lowercased() == "feeds", let folder = segments.firstIndex(of: "videos"),
            folder + 1 < segments.count
        {
            return VideoURL.youTubeID(segments[folder + 1])
        }
        return youTubeFragmentID
    }

    /// The id in the fragment, where pages from 2010 kept it: `#!v=ID`, `#/watch?v=ID`,
    /// `user/NAME#p/u/1/ID`.
    private var youTubeFragmentID: String? {
        var rest = Substring(fragment)
        if rest.hasPrefix("!") { rest = rest.dropFirst() }
        if rest.hasPrefix("p/"), let last = rest.split(separator: "/").last {
            return VideoURL.youTubeID(String(last))
        }
        if let mark = rest.firstIndex(of: "?") { rest = rest[rest.index(after: mark)...] }
        return VideoURL.parameters(rest).first { $0.name == "v" }
            .flatMap { VideoURL.youTubeID($0.value) }
    }

    /// Returns the id at the start of `text`, which may continue after the id, as in
    /// `ID&feature=share`.
    private static func youTubeID(_ text: String) -> String? {
        let id = String(decoding: text.utf8.prefix(while: VideoKey.isYouTubeByte), as: UTF8.self)
        return id.utf8.count == youTubeIDCount && !youTubeWords.contains(id) ? id : nil
    }

    // MARK: - Vimeo

    var vimeoID: String? {
        guard let first = segments.first?.lowercased() else {
            return VideoURL.vimeoID(fragment)
        }
        if let id = VideoURL.vimeoID(first) { return id }
        let place: Int
        switch first {
        case "video", "videos", "m", "embed": place = 1
        case "channels", "ondemand", "manage": place = 2
        case "groups", "album", "showcase": place = 3
        // The API, /api/v2/video/ID.json, and couch mode, /couchmode/inbox/ID.
        case "api", "couchmode": place = segments.count - 1
        case "moogaloop.swf": return parameter("clip_id").flatMap(VideoURL.vimeoID)
        default:
            // User pages: /user123/ID. Review pages: /user123/review/ID/hash. Old pages: /hd#ID.
            let isReview = segments.count > 2 && segments[1].lowercased() == "review"
            let isUsers = segments.count == 2 && !VideoURL.vimeoFolders.contains(first)
            guard isReview || isUsers else { return VideoURL.vimeoID(fragment) }
            place = isReview ? 2 : 1
        }
        guard segments.count > place else { return VideoURL.vimeoID(fragment) }
        return VideoURL.vimeoID(segments[place].prefix { $0 != "." }.description)
            ?? VideoURL.vimeoID(fragment)
    }

    /// First path segments that are not user names and are not followed by a video's id.
    private static let vimeoFolders: Set<String> = [
        "blog", "categories", "event", "folder", "forums", "help", "jobs", "store", "tag", "user",
    ]

    private static func vimeoID(_ text: String) -> String? {
        let digits = text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return digits && (1...19).contains(text.utf8.count) && !text.hasPrefix("0") ? text : nil
    }

    // MARK: - Dailymotion

    var dailymotionID: String? {
        if isAt("dai.ly") { return segments.first.flatMap(VideoURL.dailymotionID) }
        if let value = parameter("video"), let id = VideoURL.dailymotionID(value) { return id }
        // A language may come first: /us/video/ID_title. The form /swf/ID has no "video" segment.
        let lowered = segments.map { $0.lowercased() }
        if let folder = lowered.firstIndex(of: "video") ?? lowered.firstIndex(of: "swf"),
            folder + 1 < segments.count
        {
            return VideoURL.dailymotionID(segments[folder + 1])
        }
        return VideoURL.parameters(Substring(fragment)).first { $0.name == "video" }
            .flatMap { VideoURL.dailymotionID($0.value) }
    }

    /// Returns the id before the title, as in `x7tgad0_a-title`.
    private static func dailymotionID(_ text: String) -> String? {
        let id = text.prefix { $0 != "_" }
        let known = id.utf8.allSatisfy(VideoKey.isLetterOrDigit)
        return known && (1...32).contains(id.utf8.count) ? String(id) : nil
    }
}
