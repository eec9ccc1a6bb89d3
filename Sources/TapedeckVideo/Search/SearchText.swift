internal import Foundation

/// Text prepared for searching: its words, with case, accents and width folded.
///
/// Each character is folded separately, so part of a string folds in the same way by itself as
/// within the entire string. Folding has three steps:
///
/// 1. Compatibility decomposition: `ﬁ` becomes `fi`, full-width `Ａ` becomes `A`, and `é` becomes
/// `e` followed by an accent.
///
/// 2. Removal of marks on letters (combining class other than 0) and of invisible characters. Vowel
/// signs stay, since they are letters, and so do letters that do not decompose, such as `ø`.
///
/// 3. Conversion to uppercase and then to lowercase, which turns `ß` into `ss`: `Straße` and
/// `STRASSE` become equal.
///
/// **Words** are runs of letters, digits and vowel signs; all other characters separate words. Some
/// scripts are written without spaces between words, so a search finds any part of a run of their
/// letters (`terms`).
///
/// The rows of an index depend on this folding, so it must be the same on every system. Unicode
/// never changes the mappings of the characters that exist in `unicodeVersion`. Newer characters
/// are treated as letters that fold to themselves.
struct SearchText {
    /// A word, or a run of letters of a script written without spaces.
    struct Word {
        /// The range in `bytes`.
        let range: Range<Int>
        let isUnspaced: Bool
    }

    /// The folded text in UTF-8, including word separators.
    private(set) var bytes: [UInt8] = []
    /// The words, in order.
    private(set) var words: [Word] = []

    /// The Unicode version on which folding is based; newer versions must not change folded text.
    private static let unicodeVersion = (major: 15, minor: 0)
    /// The maximum number of a word's letters that the index stores; matches found in the index are
    /// then compared in full.
    static let lettersPerTermMax = 24

    init(_ text: String) {
        var text = text
        text.withUTF8 { add($0) }
    }

    /// Folds ASCII byte by byte, and each run of other characters as a separate string.
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

    /// The ranges in `bytes` of the terms in the index.
    ///
    /// In most scripts, each word is a term. In a script that is written without spaces, each pair
    /// of adjacent letters is a term, and so is the last letter; every letter therefore begins a
    /// term.
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

    /// Returns the range of each pair of adjacent letters, and the range of the last letter alone.
    static func pairs(of run: ArraySlice<UInt8>) -> [Range<Int>] {
        let starts = run.indices.filter { isStart(run[$0]) } + [run.endIndex]
        return starts.indices.dropLast().map {
            starts[$0]..<starts[min($0 + 2, starts.count - 1)]
        }
    }

    /// Returns the part of a word that is indexed, in UTF-8; its bytes sort like the letters and
    /// contain no zero byte.
    static func term(_ word: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        prefix(word, letters: lettersPerTermMax)
    }

    /// Returns the first letters of a word, or the whole word if it is short.
    static func prefix(_ word: ArraySlice<UInt8>, letters: Int) -> ArraySlice<UInt8> {
        guard word.count > letters else { return word }
        var left = letters
        for index in word.indices where isStart(word[index]) {
            if left == 0 { return word[..<index] }
            left -= 1
        }
        return word
    }

    /// Returns whether a byte is the first byte of a letter.
    private static func isStart(_ byte: UInt8) -> Bool { byte & 0xC0 != 0x80 }

    // MARK: - Ranges in the original text

    /// Returns the ranges in `text`, as UTF-8 offsets, that fold to the given ranges of `bytes`;
    /// adjacent ranges are joined.
    static func ranges(of parts: [Range<Int>], in text: String) -> [Range<Int>] {
        guard !parts.isEmpty else { return [] }
        // Each ASCII byte folds to one byte.
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return joined(parts) }
        // For each folded byte, the start of the character that produced it; finally, the end of
        // the text.
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
                // Include the whole last character, even if the range ends within its folded form.
                let last = starts[part.upperBound - 1]
                return starts[
                    part.lowerBound]..<(starts[part.upperBound...].first { $0 > last }
                    ?? offset)
            })
    }

    /// Returns the ranges in order, with adjacent and overlapping ones joined.
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

    /// Folds text, including the characters between its words.
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
        /// Part of a word.
        case letter
        /// A letter of a script written without spaces.
        case unspaced
        /// A word separator.
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

    /// Returns whether a letter belongs to a script written without spaces.
    ///
    /// The letters of scripts without spaces are the ideographs and the letters in the blocks for
    /// Thai, Lao, Myanmar, Khmer and Japanese; Unicode never moves a block.
    private static func isUnspaced(_ letter: Unicode.Scalar) -> Bool {
        switch letter.value {
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3000...0x30FF, 0x31F0...0x31FF:
            true
        default: letter.properties.isIdeographic
        }
    }
}
