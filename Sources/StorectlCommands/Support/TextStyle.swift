/// A style of text in a terminal.
enum TextStyle: String {
    case bold = "1"
    case red = "31"
    case green = "32"
    case yellow = "33"

    /// Creates the colour for a state: green for a good state, yellow for a state in progress, red
    /// for a bad state; nil for other states.
    init?(ofState state: String) {
        switch state {
        case "shown", "confirmed", "sequenced", "upToDate", "published", "answered", "good", "yes",
            "playable", "finished", "watched", "online", "deciding":
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

    /// Returns the text with the style applied to `parts`, which are ascending ranges of Unicode
    /// scalars.
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

    /// Returns the text between the escape sequences that begin and end the style.
    func applied(to text: String) -> String {
        text.isEmpty ? text : "\u{1B}[\(rawValue)m\(text)\u{1B}[0m"
    }
}
