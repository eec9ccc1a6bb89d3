internal import TapedeckModel

/// The parts of a URL that are needed to find a video; the URL is never fetched or resolved.
///
/// This parser is hand-written because pasted URLs often violate RFC 3986: schemes are missing,
/// ampersands are HTML-escaped, or a second `?` follows the id.
struct VideoURL {
    /// The host in lower case, without the user, the port and the trailing dot.
    let host: String
    /// The percent-decoded path segments, without empty segments.
    let segments: [String]
    /// The percent-decoded parameters, in order.
    let query: [(name: String, value: String)]
    /// The percent-decoded fragment, without the `#`.
    let fragment: String

    /// The maximum nesting depth of redirecting URLs.
    static let redirectsMax = 4

    /// Parses a string of visible ASCII characters; nil if the scheme is not http, https or one of
    /// the schemes of YouTube's apps.
    init?(_ text: String) {
        var rest = VideoURL.withoutAppScheme(text)
        if let scheme = rest.firstRange(of: "://") {
            let name = rest[..<scheme.lowerBound].lowercased()
            // If a slash, question mark or hash comes first, the "://" is part of an inner URL.
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

    /// Returns the value of the first parameter with the given name; nil if there is none.
    func parameter(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// Returns whether the host is `domain` or one of its subdomains.
    func isAt(_ domain: String) -> Bool { host == domain || host.hasSuffix("." + domain) }

    /// Returns the video that the URL names; nil if there is none.
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

    /// The URL to which this one redirects; nil if it does not redirect.
    private var redirectTarget: String? {
        let first = segments.first?.lowercased()
        if isAt("youtube.com") {
            switch first {
            case "attribution_link":
                // The parameter `u` is a path on the same site or a complete URL.
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

    // MARK: - Parsing

    /// Converts a URL for YouTube's apps, `vnd.youtube:ID` or `youtube://ID`, to a URL for
    /// browsers; the id may itself be a URL.
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
            // A "&" escaped as "&amp;" in HTML leaves "amp;" before the name.
            let part = part.hasPrefix("amp;") ? part.dropFirst(4) : part
            let name = part.prefix { $0 != "=" }
            return (decoded(name), decoded(part[name.endIndex...].dropFirst()))
        }
    }

    /// Percent-decodes a string once; invalid escapes are kept, and ill-formed UTF-8 is repaired.
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
