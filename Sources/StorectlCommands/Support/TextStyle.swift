/// How a terminal shows a text.
enum TextStyle: String {
    case bold = "1"
    case red = "31"
    case green = "32"
    case yellow = "33"

    /// The colour of a state: whether it is well, goes on, or is not well; nil where none of these.
    init?(ofState state: String) {
        switch state {
        case "shown", "confirmed", "sequenced", "upToDate", "published", "answered", "good", "yes",
            "playable", "finished", "online", "deciding":
            self = .green
        case "waiting", "queued", "sent", "behind", "uploading", "merging", "recorded", "asking",
            "answering", "expired", "leased", "metered", "inProgress",
            "supporting":
            self = .yellow
        case "refused", "failed", "unknown", "no", "unplayable", "ended", "loggedOut", "offline":
            self = .red
        default: return nil
        }
    }

    /// The text with the style on parts of it, which are counted in Unicode scalars, in their order.
    func applied(to text: String, in parts: [Range<Int>]) -> String {
        let scalars = Array(text.unicodeScalars)
        func part(_ range: Range<Int>) -> String {
            String(String.UnicodeScalarView(scalars[range.clamped(to: scalars.indices)]))
        }
        var (out, end) = ("", 0)
        for styled in parts {
            out += part(end..<max(end, styled.lowerBound)) + applied(to: part(styled))
            end = styled.upperBound
        }
        return out + part(end..<max(end, scalars.count))
    }

    /// The text between the sequences that begin and end the style.
    func applied(to text: String) -> String {
        text.isEmpty ? text : "\u{1B}[\(rawValue)m\(text)\u{1B}[0m"
    }
}
