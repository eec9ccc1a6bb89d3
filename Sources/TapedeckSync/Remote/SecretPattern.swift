internal import Foundation

/// Finds a secret in text from a remote, however the remote spells the secret's characters.
///
/// A remote may repeat a request in an error: as it was sent, in capitals, or escaped for JSON, HTML
/// or a URL, and each character in another way. Escapes are made of Unicode scalars, so secrets and
/// texts are compared by scalars.
struct SecretPattern {
    /// The number of leading scalars by which a secret is recognized, because messages shorten long
    /// values.
    private static let recognizedCount = 8

    private let secret: [Unicode.Scalar]
    /// The spellings of the first scalar; those of the others are rarely needed.
    private let first: [[Unicode.Scalar]]

    private init(_ secret: String) {
        self.secret = Array(secret.unicodeScalars)
        first = self.secret.first.map(SecretPattern.spellings) ?? []
    }

    /// Returns the patterns of a secret, including those of its normal forms, and of its Base64 and
    /// hexadecimal texts.
    ///
    /// - Parameter user: The user whose password the secret may be, for Basic authentication.
    static func all(of secret: String, user: String) -> [SecretPattern] {
        guard !secret.isEmpty else { return [] }
        let whole = [secret, "\(user):\(secret)"].map { Data($0.utf8).base64EncodedString() }
        // The body of a form may be encoded as a whole.
        let fields = [secret, RemoteRequest.segment(secret)]
        let texts =
            whole + whole.map { $0.replacing("=", with: "") }
            + (fields + fields.map { $0.replacing("%20", with: "+") }).flatMap(inner)
        let urlSafe = texts.map { $0.replacing("+", with: "-").replacing("/", with: "_") }
        let forms = [
            secret, secret.precomposedStringWithCanonicalMapping,
            secret.decomposedStringWithCanonicalMapping,
        ]
        let digits = secret.utf8.map { hex("", UInt32($0), 2) }.joined()
        // Swift compares strings by their normal form, so equal forms are removed by their scalars.
        let scalars = Set((forms + texts + urlSafe + [digits]).map { Array($0.unicodeScalars) })
        return scalars.map { SecretPattern(text($0)) }
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

    /// Returns `text` with every part that matches one of the patterns replaced by `[secret]`.
    static func redact(_ text: String, _ patterns: [SecretPattern]) -> String {
        let scalars = Array(text.unicodeScalars)
        let folded = scalars.map(folded)
        var (redacted, position) = (String.UnicodeScalarView(), 0)
        while position < scalars.count {
            // Several secrets may begin with the same scalars.
            let count = patterns.map { $0.count(in: folded, at: position) }.max() ?? 0
            if count > 0 {
                redacted.append(contentsOf: "[secret]".unicodeScalars)
            } else {
                redacted.append(scalars[position])
            }
            position += max(count, 1)
        }
        return String(redacted)
    }

    /// Returns the number of scalars at a position of a text that are the secret; 0 if there is
    /// another text.
    ///
    /// The text consists of `folded` scalars. A secret of fewer than `recognizedCount` scalars is
    /// recognized only if it is not part of a word.
    private func count(in whole: [Unicode.Scalar], at position: Int) -> Int {
        let text = whole[position...]
        // A scalar may have several spellings that begin in the same way, so several numbers of
        // scalars are possible.
        var (ends, longest): (Set<Int>, Int) = ([0], 0)
        for (index, scalar) in secret.enumerated() {
            let spellings = index == 0 ? first : SecretPattern.spellings(of: scalar)
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
        guard let count = ends.max() else {
            return !isShort && longest >= SecretPattern.recognizedCount ? longest : 0
        }
        guard isShort else { return count }
        let isPart =
            SecretPattern.endsInWord(whole[..<position])
            || SecretPattern.isWord(text.dropFirst(count).first)
        return isPart ? 0 : count
    }

    private static func isWord(_ scalar: Unicode.Scalar?) -> Bool {
        scalar.map { $0.properties.isAlphabetic || $0.properties.numericType != nil } ?? false
    }

    /// Returns whether a text ends in a letter or a digit that is not part of an escape.
    private static func endsInWord(_ text: ArraySlice<Unicode.Scalar>) -> Bool {
        guard isWord(text.last) else { return false }
        return !escapeForms.contains { mark, digits in
            let end = text.suffix(mark.count + digits)
            return end.count == mark.count + digits && end.starts(with: mark)
                && end.suffix(digits).allSatisfy { $0.properties.isASCIIHexDigit }
        }
    }

    // MARK: - Spellings

    /// The marks of the escapes that end in digits, and the numbers of these digits.
    private static let escapeForms: [(mark: [Unicode.Scalar], digits: Int)] = [
        ("%", 2), ("%25", 2), ("\\u", 4), ("\\x", 2),
    ].map { (Array($0.0.unicodeScalars), $0.1) }

    /// Returns a scalar as `count` compares it: without case.
    private static func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        let lowercased = scalar.properties.lowercaseMapping.unicodeScalars
        return lowercased.count == 1 ? lowercased[lowercased.startIndex] : scalar
    }

    /// Returns the spellings of a scalar in both cases, with folded scalars.
    private static func spellings(of scalar: Unicode.Scalar) -> [[Unicode.Scalar]] {
        let json = escapes[scalar] ?? []
        var found = (entities[scalar] ?? []) + json + json.map(escapedAgain)
        if scalar == " " { found.append("+") }
        let properties = scalar.properties
        for text in Set([
            String(scalar), properties.lowercaseMapping, properties.uppercaseMapping,
        ]) {
            let scalars = text.unicodeScalars.map(\.value)
            let bytes = text.utf8.map { UInt32($0) }
            let units = text.utf16.map { hex("\\u", UInt32($0), 4) }.joined()
            found += [
                text, bytes.map { hex("%", $0, 2) }.joined(),
                // UTF-8 that was read as Latin-1.
                SecretPattern.text(bytes.compactMap(Unicode.Scalar.init)),
                bytes.map { hex("%25", $0, 2) }.joined(), bytes.map { hex("\\x", $0, 2) }.joined(),
                scalars.map { "&#\($0);" }.joined(), scalars.map { "&#0\($0);" }.joined(),
                scalars.map { hex("&#x", $0, 1) + ";" }.joined(), units, escapedAgain(units),
            ]
        }
        return Array(Set(found.map { $0.unicodeScalars.map(folded) }))
    }

    /// Returns an escape as JSON within JSON contains it.
    private static func escapedAgain(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }

    private static func hex(_ mark: String, _ value: UInt32, _ count: Int) -> String {
        let digits = String(value, radix: 16)
        return mark + String(repeating: "0", count: max(0, count - digits.count)) + digits
    }

    private static func text(_ scalars: [Unicode.Scalar]) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    /// The escapes of JSON other than `\u`.
    private static let escapes: [Unicode.Scalar: [String]] = [
        "\"": ["\\\""], "\\": ["\\\\"], "/": ["\\/"], "\u{8}": ["\\b"], "\u{C}": ["\\f"],
        "\n": ["\\n"], "\r": ["\\r"], "\t": ["\\t"],
    ]

    /// The named entities of HTML.
    private static let entities: [Unicode.Scalar: [String]] = [
        "\"": ["&quot;"], "&": ["&amp;"], "'": ["&apos;"], "<": ["&lt;"], ">": ["&gt;"],
    ]
}
