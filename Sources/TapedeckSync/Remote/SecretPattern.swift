internal import Foundation

/// Finds a secret in text from a remote, however the remote spells the secret's characters.
///
/// A remote may repeat a request in an error: as it was sent, in capitals, or escaped for JSON, HTML
/// or a URL, and each character in another way.
struct SecretPattern {
    /// The number of leading characters by which a secret is recognized, because messages shorten
    /// long values.
    private static let recognizedCount = 8

    private let secret: [Character]
    /// The spellings of the first character; those of the others are rarely needed.
    private let first: [[Character]]

    private init(_ secret: String) {
        self.secret = Array(secret)
        first = self.secret.first.map(SecretPattern.spellings) ?? []
    }

    /// Returns the patterns of a secret, including those of its Base64 text.
    ///
    /// - Parameter user: The user whose password the secret may be, for Basic authentication.
    static func all(of secret: String, user: String) -> [SecretPattern] {
        guard !secret.isEmpty else { return [] }
        let whole = [secret, "\(user):\(secret)"].map { Data($0.utf8).base64EncodedString() }
        let texts = whole + whole.map { $0.replacing("=", with: "") } + inner(secret)
        let urlSafe = texts.map { $0.replacing("+", with: "-").replacing("/", with: "_") }
        return Set([secret] + texts + urlSafe).map { SecretPattern($0) }
    }

    /// Returns the Base64 text of a secret within a longer value, without the characters at both
    /// ends that contain bits of its neighbours.
    ///
    /// Texts that are too short to be recognized are omitted.
    private static func inner(_ secret: String) -> [String] {
        let bytes = Array(secret.utf8)
        return (0...2).map { before in
            let text = Data([UInt8](repeating: 0, count: before) + bytes).base64EncodedString()
            let (first, end) = ((before * 8 + 5) / 6, (before + bytes.count) * 8 / 6)
            return String(text.prefix(end).dropFirst(first))
        }.filter { $0.count >= recognizedCount }
    }

    /// Returns a character as `count` compares it: without case.
    static func folded(_ character: Character) -> Character {
        let lowercased = character.lowercased()
        return lowercased.count == 1 ? Character(lowercased) : character
    }

    /// Returns the number of characters of the secret with which a text begins; 0 if it does not
    /// begin with the secret.
    ///
    /// The text consists of `folded` characters. A secret of fewer than `recognizedCount` characters
    /// is recognized only if it is not part of a word.
    func count(in text: ArraySlice<Character>, after before: Character?) -> Int {
        // A character may have several spellings that begin in the same way, so several numbers of
        // characters are possible.
        var (ends, longest): (Set<Int>, Int) = ([0], 0)
        for (index, character) in secret.enumerated() {
            let spellings = index == 0 ? first : SecretPattern.spellings(of: character)
            var next: Set<Int> = []
            for end in ends {
                let rest = text.dropFirst(end)
                for spelling in spellings {
                    let count = zip(rest, spelling).prefix { $0 == $1 }.count
                    longest = max(longest, end + count)
                    if count == spelling.count { next.insert(end + count) }
                }
            }
            ends = next
            if ends.isEmpty { break }
        }
        let isShort = secret.count < SecretPattern.recognizedCount
        guard let whole = ends.max() else {
            return !isShort && longest >= SecretPattern.recognizedCount ? longest : 0
        }
        let isPart =
            SecretPattern.isWord(before) || SecretPattern.isWord(text.dropFirst(whole).first)
        return isShort && isPart ? 0 : whole
    }

    private static func isWord(_ character: Character?) -> Bool {
        character.map { $0.isLetter || $0.isNumber } ?? false
    }

    // MARK: - Spellings

    /// Returns the spellings of a character in both cases, with folded characters.
    private static func spellings(of character: Character) -> [[Character]] {
        let text = String(character)
        var found = entities[character] ?? []
        if text == " " { found.append("+") }
        let json = escapes[character] ?? []
        found += json + json.map(escapedAgain)
        for text in Set([text, text.lowercased(), text.uppercased()]) {
            let scalars = text.unicodeScalars.map(\.value)
            let units = text.utf16.map { hex("\\u", UInt32($0), 4) }.joined()
            found += [
                text, text.utf8.map { hex("%", UInt32($0), 2) }.joined(),
                scalars.map { "&#\($0);" }.joined(), scalars.map { "&#0\($0);" }.joined(),
                scalars.map { hex("&#x", $0, 1) + ";" }.joined(), units, escapedAgain(units),
            ]
        }
        return Array(Set(found.map { $0.map(folded) }))
    }

    /// Returns an escape as JSON within JSON contains it.
    private static func escapedAgain(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }

    private static func hex(_ mark: String, _ value: UInt32, _ count: Int) -> String {
        let digits = String(value, radix: 16)
        return mark + String(repeating: "0", count: max(0, count - digits.count)) + digits
    }

    /// The escapes of JSON other than `\u`.
    private static let escapes: [Character: [String]] = [
        "\"": ["\\\""], "\\": ["\\\\"], "/": ["\\/"], "\u{8}": ["\\b"], "\u{C}": ["\\f"],
        "\n": ["\\n"], "\r": ["\\r"], "\t": ["\\t"],
    ]

    /// The named entities of HTML.
    private static let entities: [Character: [String]] = [
        "\"": ["&quot;"], "&": ["&amp;"], "'": ["&apos;"], "<": ["&lt;"], ">": ["&gt;"],
    ]
}
