internal import TapedeckModel

/// The words of a search; a match must contain all of the words.
///
/// The last word may also match the beginning of a longer word; the other words match whole words
/// only. In scripts written without spaces, a run of letters matches wherever it occurs.
struct SearchWords {
    /// A word of a search.
    struct Word: Hashable {
        /// The folded letters, in UTF-8.
        let bytes: [UInt8]
        let isUnspaced: Bool
        /// Whether the word also matches longer words that begin with it.
        let isBeginning: Bool
    }

    let words: [Word]

    /// Throws `ModelError`: `.usage` if there is no word, `.tooLarge` if the text is too long or
    /// has too many words.
    init(_ text: String) throws(ModelError) {
        guard text.utf8.count <= SearchLimits.textBytesMax else {
            throw ModelError(
                .tooLarge, "the search text is too long (\(text.utf8.count) bytes)",
                hint: "use at most \(SearchLimits.textBytesMax) bytes")
        }
        let folded = SearchText(text)
        var words: [Word] = []
        for (index, word) in folded.words.enumerated() {
            let word = Word(
                bytes: Array(folded.bytes[word.range]), isUnspaced: word.isUnspaced,
                isBeginning: !word.isUnspaced && index == folded.words.count - 1)
            if !words.contains(word) { words.append(word) }
        }
        guard !words.isEmpty else {
            throw ModelError(
                .usage, "the search text contains no word",
                hint: "enter at least one letter or digit")
        }
        guard words.count <= SearchLimits.wordsMax else {
            throw ModelError(
                .tooLarge, "the search text has too many words (\(words.count))",
                hint: "use at most \(SearchLimits.wordsMax) words")
        }
        self.words = words
    }

    /// Returns a four-byte checksum of the scope and the words, which identifies the search.
    func name(in scope: SearchScope?) -> [UInt8] {
        var bytes = Array((scope?.rawValue ?? "").utf8)
        for word in words { bytes += [0, word.isBeginning ? 1 : 0] + word.bytes }
        var name: [UInt8] = []
        name.appendBigEndian(bytes.withUnsafeBytes { crc32c($0) })
        return name
    }

    /// Whether the last word may be the beginning of a longer word.
    var hasBeginning: Bool { words.last?.isBeginning ?? false }

    /// Returns the rank of a searchable object; nil if the object does not match.
    func rank(of thing: SearchThing) -> SearchRank? {
        /// Returns the smallest weight of the fields that contain a word.
        func weight(_ word: Word, isLonger: Bool) -> UInt8? {
            thing.texts.lazy.filter { $0.isSearched && $0.folded.has(word, isLonger: isLonger) }
                .map(\.field.weight).min()
        }
        var (whole, longer): (UInt8?, UInt8) = (0, 0)
        for word in words {
            guard let found = weight(word, isLonger: word.isBeginning) else { return nil }
            longer = max(longer, found)
            let exact = word.isBeginning ? weight(word, isLonger: false) : found
            whole = exact.flatMap { exact in whole.map { max($0, exact) } }
        }
        let rank = SearchRank(weight: longer, isLonger: whole != longer)
        return rank.weight < thing.weightMin ? nil : rank
    }

    /// Returns the texts to display for a searchable object.
    ///
    /// Titles of other broadcasts are included only if they contain a word that no earlier text
    /// contains, or that earlier texts contain only as the beginning of a longer word.
    func toldTexts(of thing: SearchThing) -> [SearchThing.Text] {
        // Fast path: most videos have one title.
        guard thing.texts.contains(where: { $0.field == .otherTitle }) else { return thing.texts }
        var (found, whole): (Set<Word>, Set<Word>) = ([], [])
        return thing.texts.filter { text in
            let here = words.filter { text.folded.has($0, isLonger: $0.isBeginning) }
            let wholeHere = here.filter { text.folded.has($0, isLonger: false) }
            let isNew = !found.isSuperset(of: here) || !whole.isSuperset(of: wholeHere)
            found.formUnion(here)
            whole.formUnion(wholeHere)
            return isNew || text.field != .otherTitle
        }
    }
}

/// The quality of a match; smaller is better.
///
/// The weight of a word is the smallest weight of the fields that contain the word; the weight of a
/// match is the largest weight of its words. At equal weight, matching the last word as a whole
/// word is better than matching it as the beginning of a longer word.
struct SearchRank: Comparable {
    var weight: UInt8
    var isLonger: Bool

    static func < (left: SearchRank, right: SearchRank) -> Bool {
        (left.weight, left.isLonger ? 1 : 0) < (right.weight, right.isLonger ? 1 : 0)
    }
}

extension SearchText {
    /// Returns whether the text contains a word.
    ///
    /// - Parameter isLonger: Whether the word may be the beginning of a longer word.
    func has(_ word: SearchWords.Word, isLonger: Bool) -> Bool {
        words.contains { held in
            guard held.isUnspaced == word.isUnspaced else { return false }
            guard !word.isUnspaced else { return !places(of: word.bytes, in: held).isEmpty }
            return begins(held, with: word.bytes, isLonger: isLonger)
        }
    }

    /// Returns the ranges in `bytes` that match a word; if a longer word begins with it, the range
    /// covers only that beginning.
    func places(of word: SearchWords.Word) -> [Range<Int>] {
        var places: [Range<Int>] = []
        for held in words where held.isUnspaced == word.isUnspaced {
            if word.isUnspaced {
                places += self.places(of: word.bytes, in: held)
            } else if begins(held, with: word.bytes, isLonger: word.isBeginning) {
                let start = held.range.lowerBound
                places.append(start..<start + word.bytes.count)
            }
        }
        return places
    }

    private func begins(_ held: Word, with part: [UInt8], isLonger: Bool) -> Bool {
        (isLonger ? held.range.count >= part.count : held.range.count == part.count)
            && holds(part, at: held.range.lowerBound)
    }

    /// Returns the ranges in `bytes` where the given bytes occur within a word.
    ///
    /// The ranges always consist of whole letters, because in UTF-8 the first byte of a letter
    /// never occurs within another letter.
    private func places(of part: [UInt8], in word: Word) -> [Range<Int>] {
        guard part.count <= word.range.count else { return [] }
        return (word.range.lowerBound...word.range.upperBound - part.count)
            .filter { holds(part, at: $0) }.map { $0..<$0 + part.count }
    }

    /// Returns whether the bytes at a position match; there must be enough bytes.
    private func holds(_ part: [UInt8], at start: Int) -> Bool {
        for (offset, byte) in part.enumerated() where bytes[start + offset] != byte {
            return false
        }
        return true
    }
}
