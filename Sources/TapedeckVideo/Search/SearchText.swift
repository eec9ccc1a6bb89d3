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
        /// Where it stands in `bytes`.
        let range: Range<Int>
        let isUnspaced: Bool
    }

    /// The folded text, and in it what parts the words, in UTF-8.
    private(set) var bytes: [UInt8] = []
    /// The words, in their order.
    private(set) var words: [Word] = []

    /// No folded form may depend on characters that came after this version.
    private static let unicodeVersion = (major: 15, minor: 0)
    /// The letters of a longer word that the index keeps; what is found is compared by all of them.
    static let lettersPerTermMax = 24

    init(_ text: String) {
        var text = text
        text.withUTF8 { add($0) }
    }

    /// ASCII folds by the byte, and what stands between it as it does alone.
    private mutating func add(_ text: UnsafeBufferPointer<UInt8>) {
        bytes.reserveCapacity(text.count)
        words.reserveCapacity(min(8, text.count))
        var word = (start: 0, kind: Kind.between)
        func end(_ index: Int, _ next: Kind, _ words: inout [Word]) {
            if next == word.kind { return }
            if word.kind != .between {
                words.append(
                    Word(range: word.start..<index, isUnspaced: word.kind == .unspaced))
            }
            word = (index, next)
        }
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte < 0x80 {
                let letter = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
                end(bytes.count, Kind(ascii: letter), &words)
                bytes.append(letter)
                index += 1
                continue
            }
            let from = index
            while index < text.count, text[index] >= 0x80 { index += 1 }
            let part = String(decoding: text[from..<index], as: UTF8.self)
            for letter in SearchText.folded(part) {
                end(bytes.count, Kind(letter), &words)
                bytes.append(contentsOf: UTF8.encode(letter).unsafelyUnwrapped)
            }
        }
        end(bytes.count, .between, &words)
    }

    // MARK: - Terms

    /// Where in `bytes` stands what the index keeps of the text: of a word the word; of a run of letters without
    /// spaces each pair of neighbours, and the last letter, so that every letter begins a term.
    var terms: [Range<Int>] {
        var terms: [Range<Int>] = []
        terms.reserveCapacity(words.count)
        for word in words {
            if word.isUnspaced {
                terms += SearchText.pairs(of: bytes[word.range])
            } else {
                terms.append(SearchText.term(bytes[word.range]).indices)
            }
        }
        return terms
    }

    /// Each letter with the one behind it, and the last one alone.
    static func pairs(of run: ArraySlice<UInt8>) -> [Range<Int>] {
        let starts = run.indices.filter { isStart(run[$0]) } + [run.endIndex]
        return starts.indices.dropLast().map {
            starts[$0]..<starts[min($0 + 2, starts.count - 1)]
        }
    }

    /// What the index keeps of a word, in UTF-8: it sorts as its letters do, and is without 0.
    static func term(_ word: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        prefix(word, letters: lettersPerTermMax)
    }

    /// The first letters, or all where there are no more.
    static func prefix(_ word: ArraySlice<UInt8>, letters: Int) -> ArraySlice<UInt8> {
        guard word.count > letters else { return word }
        var left = letters
        for index in word.indices where isStart(word[index]) {
            if left == 0 { return word[..<index] }
            left -= 1
        }
        return word
    }

    /// Whether a letter begins with a byte.
    private static func isStart(_ byte: UInt8) -> Bool { byte & 0xC0 != 0x80 }

    // MARK: - Places in the text itself

    /// The parts of a text, as offsets in its UTF-8, that fold to parts of `bytes`; joined where they touch.
    static func ranges(of parts: [Range<Int>], in text: String) -> [Range<Int>] {
        guard !parts.isEmpty else { return [] }
        // Each byte folds to one.
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return joined(parts) }
        // Where the character begins that a byte comes from, and behind the last one the end.
        var starts: [Int] = []
        var offset = 0
        for scalar in text.unicodeScalars {
            let count =
                scalar.isASCII ? 1 : folded(String(scalar)).reduce(0) { $0 + UTF8.width($1) }
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
        guard text.unicodeScalars.allSatisfy(isKnown) else {
            return text.unicodeScalars.flatMap { isKnown($0) ? folded(String($0)) : [$0] }
        }
        let bases = text.decomposedStringWithCompatibilityMapping.unicodeScalars.filter(isBase)
        return String(String.UnicodeScalarView(bases)).lowercased().uppercased().lowercased()
            .unicodeScalars.filter(isBase)
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

    private enum Kind {
        /// Of a word.
        case letter
        /// Of a script that is written without spaces.
        case unspaced
        /// What parts words.
        case between

        init(ascii byte: UInt8) {
            switch byte {
            case 0x30...0x39, 0x61...0x7A: self = .letter
            default: self = .between
            }
        }

        init(_ scalar: Unicode.Scalar) {
            if scalar.isASCII {
                self.init(ascii: UInt8(truncatingIfNeeded: scalar.value))
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
