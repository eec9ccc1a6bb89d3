internal import Foundation

/// A text as it is searched: its words, without what case, accents and width tell apart.
///
/// A text is folded character by character, so that a part of it folds as it does within the whole:
///
/// 1. Compatibility decomposition: `ﬁ` is `fi`, full-width `Ａ` is `A`, `é` is `e` and an accent.
/// 2. Marks that stand on a letter (a combining class other than 0) and invisible characters are dropped. Vowel
///    signs stay, as they are letters; so do letters that have no other one in them, such as `ø`.
/// 3. By way of capitals to small letters, as `ß` has two of them: `Straße` and `STRASSE` are one.
///
/// **Words** are runs of letters, digits and vowel signs; all else parts words. Scripts that are written without
/// spaces have no such words: a run of their letters can be found by any part of it (`terms`).
///
/// Rows of an index follow from this, on every system alike: of what Unicode had by `unicodeVersion` the
/// mappings never change, and a character that came later is a letter that folds to itself.
struct SearchText {
    /// A word, or a run of letters of scripts that are written without spaces.
    struct Word {
        /// Where it stands in `letters`.
        let range: Range<Int>
        let isUnspaced: Bool
    }

    /// The folded text, and in it what parts the words.
    let letters: [Unicode.Scalar]
    /// The words, in their order.
    let words: [Word]

    /// No folded form may depend on characters that came after this version.
    private static let unicodeVersion = (major: 15, minor: 0)
    /// The letters of a longer word that the index keeps; what is found is compared by all of them.
    static let lettersPerTermMax = 24

    init(_ text: String) {
        letters = SearchText.folded(text)
        words = SearchText.words(of: letters)
    }

    // MARK: - Terms

    /// What the index keeps of the text, each once: of a word the word; of a run of letters without spaces each
    /// pair of neighbours, and the last letter, so that every letter begins a term.
    var terms: Set<[UInt8]> {
        var terms: Set<[UInt8]> = []
        for word in words {
            guard word.isUnspaced else {
                terms.insert(SearchText.term(letters[word.range]))
                continue
            }
            for index in word.range {
                terms.insert(
                    SearchText.term(letters[index..<min(index + 2, word.range.upperBound)]))
            }
        }
        return terms
    }

    /// The bytes of a term: UTF-8, so that they sort as its letters do, and without 0.
    static func term(_ letters: some Collection<Unicode.Scalar>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        for letter in letters.prefix(lettersPerTermMax) {
            if letter.isASCII {
                bytes.append(UInt8(truncatingIfNeeded: letter.value))
            } else {
                bytes.append(contentsOf: UTF8.encode(letter).unsafelyUnwrapped)
            }
        }
        return bytes
    }

    // MARK: - Places in the text itself

    /// The parts of a text, as offsets in its UTF-8, that fold to parts of `letters`; joined where they touch.
    static func ranges(of parts: [Range<Int>], in text: String) -> [Range<Int>] {
        guard !parts.isEmpty else { return [] }
        // A byte a letter, each of its own.
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return joined(parts) }
        // Where the character begins that a letter comes from, and behind the last one the end.
        var starts: [Int] = []
        var offset = 0
        for scalar in text.unicodeScalars {
            let count = scalar.isASCII ? 1 : folded(String(scalar)).count
            for _ in 0..<count { starts.append(offset) }
            offset += UTF8.width(scalar)
        }
        starts.append(offset)
        return joined(
            parts.map { part in
                // All of a character, also where the part ends within what it folds to.
                let last = starts[part.upperBound - 1]
                return starts[
                    part.lowerBound]..<(starts[part.upperBound...].first { $0 > last }
                    ?? offset)
            })
    }

    /// Ranges in their order, those that touch as one.
    private static func joined(_ ranges: [Range<Int>]) -> [Range<Int>] {
        ranges.sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { joined, range in
            if let last = joined.last, range.lowerBound <= last.upperBound {
                joined[joined.count - 1] =
                    last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                joined.append(range)
            }
        }
    }

    // MARK: - Folding

    /// The letters of a text, and folded what stands between them.
    static func folded(_ text: String) -> [Unicode.Scalar] {
        var text = text
        if let ascii = text.withUTF8(foldedASCII) { return ascii }
        guard text.unicodeScalars.allSatisfy(isKnown) else {
            return text.unicodeScalars.flatMap { isKnown($0) ? folded(String($0)) : [$0] }
        }
        let bases = text.decomposedStringWithCompatibilityMapping.unicodeScalars.filter(isBase)
        return String(String.UnicodeScalarView(bases)).lowercased().uppercased().lowercased()
            .unicodeScalars.filter(isBase)
    }

    /// Nil where the text holds anything but ASCII.
    private static func foldedASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> [Unicode.Scalar]? {
        guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
        return bytes.map { Unicode.Scalar((0x41...0x5A).contains($0) ? $0 | 0x20 : $0) }
    }

    private static func isKnown(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII || scalar.properties.age.map { $0 <= unicodeVersion } ?? false
    }

    private static func isBase(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII
            || scalar.properties.canonicalCombiningClass == .notReordered
                && !scalar.properties.isDefaultIgnorableCodePoint
    }

    // MARK: - Words

    private static func words(of letters: [Unicode.Scalar]) -> [Word] {
        var words: [Word] = []
        var start = 0
        var kind = Kind.between
        for index in 0...letters.count {
            let next = index < letters.count ? Kind(letters[index]) : .between
            if next == kind { continue }
            if kind != .between {
                words.append(Word(range: start..<index, isUnspaced: kind == .unspaced))
            }
            (start, kind) = (index, next)
        }
        return words
    }

    private enum Kind {
        /// Of a word.
        case letter
        /// Of a script that is written without spaces.
        case unspaced
        /// What parts words.
        case between

        init(_ scalar: Unicode.Scalar) {
            if scalar.isASCII {
                switch scalar.value {
                case 0x30...0x39, 0x61...0x7A: self = .letter
                default: self = .between
                }
                return
            }
            guard SearchText.isKnown(scalar) else {
                self = .letter
                return
            }
            switch scalar.properties.generalCategory {
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter,
                .otherLetter, .nonspacingMark, .spacingMark, .decimalNumber, .letterNumber,
                .otherNumber:
                self = SearchText.isUnspaced(scalar) ? .unspaced : .letter
            default: self = .between
            }
        }
    }

    /// Whether a letter is of a script that is written without spaces.
    ///
    /// That is an ideograph, or in the blocks of Thai, Lao, Myanmar, Khmer or Japanese, which Unicode never moves.
    private static func isUnspaced(_ letter: Unicode.Scalar) -> Bool {
        switch letter.value {
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3000...0x30FF, 0x31F0...0x31FF:
            true
        default: letter.properties.isIdeographic
        }
    }
}
