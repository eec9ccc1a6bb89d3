internal import Foundation

/// Finds a secret in text from a remote, however the remote escapes it.
///
/// A remote may repeat a request in an error: as it was sent, in capitals, encoded, or escaped, even
/// several times. Therefore, the text is searched at each stage of decoding (`EscapedText`).
struct SecretPattern {
    /// The number of leading characters by which a secret is recognized, because messages shorten
    /// long values.
    private static let recognizedCount = 8

    /// The secret's code points, as `folded` returns them.
    private let secret: [UInt32]

    /// Returns the patterns of a secret, including those of its normal forms, and of its Base64 and
    /// hexadecimal texts.
    ///
    /// - Parameter user: The user whose password the secret may be, for Basic authentication.
    static func all(of secret: String, user: String) -> [SecretPattern] {
        guard !secret.isEmpty else { return [] }
        let whole = [secret, "\(user):\(secret)"].map { Data($0.utf8).base64EncodedString() }
        // The body of a form may be encoded as a whole.
        let fields = [secret, RemoteRequest.segment(secret)]
        let once = (fields + fields.map { $0.replacing("%20", with: "+") }).flatMap(inner)
        let texts =
            whole + whole.map { $0.replacing("=", with: "") } + once + (whole + once).flatMap(inner)
        let urlSafe = texts.map { $0.replacing("+", with: "-").replacing("/", with: "_") }
        let forms = [
            secret, secret.trimmingSpace, secret.lowercased(), secret.uppercased(),
            secret.precomposedStringWithCanonicalMapping,
            secret.decomposedStringWithCanonicalMapping,
            secret.precomposedStringWithCompatibilityMapping,
            secret.decomposedStringWithCompatibilityMapping,
            // UTF-8 that was read as Latin-1.
            String(String.UnicodeScalarView(secret.utf8.map { Unicode.Scalar($0) })),
        ]
        let digits = secret.utf8.map { String($0 / 16, radix: 16) + String($0 % 16, radix: 16) }
        // A secret that looks like an escape is decoded together with the escapes around it.
        let stages = (forms + texts + urlSafe + [digits.joined()])
            .flatMap(EscapedText.stages)
        return Set(stages.map { $0.units.map { folded($0.code) } }).filter { !$0.isEmpty }
            .map(SecretPattern.init)
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
        let beginning = Dictionary(grouping: patterns) { $0.secret[0] }
        var isSecret = [Bool](repeating: false, count: scalars.count)
        for stage in EscapedText.stages(of: text) {
            let codes = stage.units.map { folded($0.code) }
            for position in codes.indices {
                let code = codes[position]
                var candidates = beginning[code] ?? []
                if code == plus { candidates += beginning[space] ?? [] }
                if code >> 10 == 0x36 { candidates += patterns }
                for pattern in candidates {
                    guard let part = pattern.match(codes, at: position, stage) else { continue }
                    for index in part { isSecret[index] = true }
                }
            }
        }
        var redacted = String.UnicodeScalarView()
        for (index, scalar) in scalars.enumerated() {
            if !isSecret[index] {
                redacted.append(scalar)
            } else if index == 0 || !isSecret[index - 1] {
                redacted.append(contentsOf: "[secret]".unicodeScalars)
            }
        }
        return String(redacted)
    }

    /// Returns the part of the original text that is the secret, or its beginning, at a position of
    /// a stage; nil if there is another text.
    ///
    /// - Parameter codes: The stage's code points, as `folded` returns them.
    ///
    /// A secret of fewer than `recognizedCount` characters is recognized only if it is complete and
    /// not part of a word.
    private func match(_ codes: [UInt32], at position: Int, _ stage: EscapedText) -> Range<Int>? {
        var count = 0
        while count < secret.count, position + count < codes.count,
            SecretPattern.isSame(codes[position + count], secret[count])
        {
            count += 1
        }
        var end = position + count
        if secret.count < SecretPattern.recognizedCount {
            let isWhole =
                count == secret.count && !SecretPattern.isWord(codes[..<position].last)
                && !SecretPattern.isWord(codes[end...].first)
            return isWhole ? stage.original(position..<end) : nil
        }
        if count < secret.count {
            // A shortened text may end within an escape.
            if end < codes.count, codes[end] >> 10 == 0x36,
                codes[end] == 0xD7C0 + secret[count] >> 10
            {
                end += 1
            }
            guard end > position else { return nil }
            end += stage.incompleteEscape(at: end)
        }
        let original = stage.original(position..<end)
        let isRecognized =
            count == secret.count || original.count >= SecretPattern.recognizedCount
        return isRecognized ? original : nil
    }

    /// Returns whether a code point represents one of a secret; forms contain `+` instead of a space.
    private static func isSame(_ code: UInt32, _ other: UInt32) -> Bool {
        code == other || code == plus && other == space
    }

    private static let plus: UInt32 = 0x2B
    private static let space: UInt32 = 0x20

    private static func isWord(_ code: UInt32?) -> Bool {
        guard let scalar = code.flatMap(Unicode.Scalar.init) else { return false }
        return scalar.properties.isAlphabetic || scalar.properties.numericType != nil
    }

    /// Returns a code point as it is compared: without case.
    private static func folded(_ code: UInt32) -> UInt32 {
        guard let lowercased = Unicode.Scalar(code)?.properties.lowercaseMapping.unicodeScalars,
            lowercased.count == 1
        else { return code }
        return lowercased[lowercased.startIndex].value
    }
}
