internal import TapedeckModel

/// A URL taken apart as far as finding a video needs; never fetched, never resolved.
///
/// Written by hand because what people paste is often no URL by RFC 3986: schemes are missing,
/// ampersands are HTML-escaped, a second `?` follows the id.
struct VideoURL {
    /// Lower case, without user, port and a trailing dot.
    let host: String
    /// Percent-decoded; empty ones are dropped.
    let segments: [String]
    /// Percent-decoded, in order.
    let query: [(name: String, value: String)]
    /// Percent-decoded, without the `#`.
    let fragment: String

    /// How many redirecting URLs may stand inside each other.
    static let redirectsMax = 4

    /// Takes a text of visible ASCII apart; nil when it has a scheme other than http, https and those of
    /// YouTube's apps.
    init?(_ text: String) {
        var rest = VideoURL.withoutAppScheme(text)
        if let scheme = rest.firstRange(of: "://") {
            let name = rest[..<scheme.lowerBound].lowercased()
            // A slash, question mark or hash before "://" belongs to an inner URL.
            if !name.contains(where: { "/?#".contains($0) }) {
                guard name == "http" || name == "https" else { return nil }
                rest = rest[scheme.upperBound...]
            }
        } else if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
        }
        let authority = rest.prefix { !"/?#".contains($0) }
        host = VideoURL.host(of: authority)
        rest = rest[authority.endIndex...]
        let path = rest.prefix { !"?#".contains($0) }
        rest = rest[path.endIndex...]
        let query = rest.prefix { $0 != "#" }
        segments = path.split(separator: "/").map(VideoURL.decoded)
        self.query = VideoURL.parameters(query.dropFirst())
        fragment = VideoURL.decoded(rest[query.endIndex...].dropFirst())
    }

    /// The value of the first parameter of this name.
    func parameter(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// Whether the host is `domain` or lies below it.
    func isAt(_ domain: String) -> Bool { host == domain || host.hasSuffix("." + domain) }

    /// The video that the URL names, or nil.
    func videoKey(depth: Int = 0) -> VideoKey? {
        if depth < VideoURL.redirectsMax, let inner = redirectTarget {
            return VideoURL(inner)?.videoKey(depth: depth + 1)
        }
        if isAt("youtube.com") || isAt("youtube-nocookie.com") || isAt("youtu.be")
            || isAt("ytimg.com") || isAt("youtube.googleapis.com")
        {
            return youTubeID.map { VideoKey(uncheckedProvider: "youtube", id: $0) }
        }
        if isAt("vimeo.com") {
            return vimeoID.map { VideoKey(uncheckedProvider: "vimeo", id: $0) }
        }
        if isAt("dailymotion.com") || isAt("dai.ly") {
            return dailymotionID.map { VideoKey(uncheckedProvider: "dailymotion", id: $0) }
        }
        return nil
    }

    /// The URL that this one only leads to, or nil.
    private var redirectTarget: String? {
        let first = segments.first?.lowercased()
        if isAt("youtube.com") {
            switch first {
            case "attribution_link":
                // `u` is a path on the same site, or a whole URL.
                return parameter("u").map { $0.hasPrefix("/") ? "youtube.com" + $0 : $0 }
            case "oembed": return parameter("url")
            case "redirect": return parameter("q")
            default: return host.hasPrefix("consent.") ? parameter("continue") : nil
            }
        }
        if host.hasPrefix("www.google.") || host.hasPrefix("google."), first == "url" {
            return parameter("q") ?? parameter("url")
        }
        if isAt("facebook.com"), first == "l.php" { return parameter("u") }
        let isOEmbed = segments.contains { $0.lowercased().hasPrefix("oembed") }
        return isOEmbed && (isAt("vimeo.com") || isAt("dailymotion.com")) ? parameter("url") : nil
    }

    // MARK: - Taking apart

    /// Addresses that open YouTube's apps, `vnd.youtube:ID` and `youtube://ID`, as one that browsers open; an
    /// address may stand in the place of the id.
    private static func withoutAppScheme(_ text: String) -> Substring {
        let lowered = text.lowercased()
        guard let scheme = ["vnd.youtube:", "youtube:"].first(where: lowered.hasPrefix) else {
            return Substring(text)
        }
        var rest = Substring(text).dropFirst(scheme.count)
        if rest.hasPrefix("//") { rest = rest.dropFirst(2) }
        return rest.prefix { !"/?#".contains($0) }.contains(".") ? rest : "youtu.be/" + rest
    }

    private static func host(of authority: Substring) -> String {
        let afterUser = authority.lastIndex(of: "@").map { authority.index(after: $0) }
        var host = authority[(afterUser ?? authority.startIndex)...].lowercased()
        if let colon = host.firstIndex(of: ":") { host = String(host[..<colon]) }
        if host.hasSuffix(".") { host.removeLast() }
        return host
    }

    static func parameters(_ text: Substring) -> [(name: String, value: String)] {
        text.split(separator: "&").map { part in
            // "&amp;" of HTML leaves "amp;" before the name.
            let part = part.hasPrefix("amp;") ? part.dropFirst(4) : part
            let name = part.prefix { $0 != "=" }
            return (decoded(name), decoded(part[name.endIndex...].dropFirst()))
        }
    }

    /// Percent-decodes once; what is no escape stays, and ill-formed UTF-8 is repaired.
    static func decoded(_ text: Substring) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        let bytes = Array(text.utf8)
        var out: [UInt8] = []
        var at = 0
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "%"), at + 2 < bytes.count,
                let high = Character(UnicodeScalar(bytes[at + 1])).hexDigitValue,
                let low = Character(UnicodeScalar(bytes[at + 2])).hexDigitValue
            {
                out.append(UInt8(high << 4 | low))
                at += 3
            } else {
                out.append(bytes[at])
                at += 1
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
