internal import TapedeckModel

/// The words that somebody searches, all of which a thing has to have.
///
/// Each word is a whole one, but for the last, which may be the beginning of one. Letters of scripts that are
/// written without spaces are found wherever they stand one behind the other.
struct SearchWords {
    /// One of them.
    struct Word: Hashable {
        /// Its folded letters, in UTF-8.
        let bytes: [UInt8]
        let isUnspaced: Bool
        /// Whether a longer word that begins so is found, too.
        let isBeginning: Bool
    }

    let words: [Word]

    /// Throws `ModelError` with `.usage` where there is no word, `.tooLarge` where there are too many.
    init(_ text: String) throws(ModelError) {
        guard text.utf8.count <= SearchLimits.textBytesMax else {
            throw ModelError(
                .tooLarge, "a text of \(text.utf8.count) bytes is too long to be searched",
                hint: "no more than \(SearchLimits.textBytesMax) bytes")
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
                .usage, "there is no word in what is to be found", hint: "write some letters")
        }
        guard words.count <= SearchLimits.wordsMax else {
            throw ModelError(
                .tooLarge, "\(words.count) words are too many to be searched together",
                hint: "no more than \(SearchLimits.wordsMax)")
        }
        self.words = words
    }

    /// What tells the search apart from others: a checksum of where it looks and of its words, in four bytes.
    func name(in scope: SearchScope?) -> [UInt8] {
        var bytes = Array((scope?.rawValue ?? "").utf8)
        for word in words { bytes += [0, word.isBeginning ? 1 : 0] + word.bytes }
        var name: [UInt8] = []
        name.appendBigEndian(bytes.withUnsafeBytes { crc32c($0) })
        return name
    }

    /// Whether something may be found by a longer word only.
    var hasBeginning: Bool { words.last?.isBeginning ?? false }

    /// The class in which a thing is found; nil where it is not.
    func rank(of thing: SearchThing) -> SearchRank? {
        /// The weightiest field with a word.
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

    /// The texts of a thing that are told: of the titles that others gave a video only those in which a word
    /// stands that no text before has, or has only as the beginning of a longer one.
    func toldTexts(of thing: SearchThing) -> [SearchThing.Text] {
        var (found, whole): (Set<Word>, Set<Word>) = ([], [])
        return thing.texts.filter { text in
            let here = words.filter { text.folded.has($0, isLonger: $0.isBeginning) }
            let wholeHere = here.filter { text.folded.has($0, isLonger: false) }
            let isNews = !found.isSuperset(of: here) || !whole.isSuperset(of: wholeHere)
            found.formUnion(here)
            whole.formUnion(wholeHere)
            return isNews || text.field != .otherTitle
        }
    }
}

/// How well a thing is found; what is less comes first.
///
/// Of the fields that it takes to find all words the least weighty one counts; and then whether the last word
/// stands there whole, or as the beginning of a longer one only.
struct SearchRank: Comparable {
    var weight: UInt8
    var isLonger: Bool

    static func < (left: SearchRank, right: SearchRank) -> Bool {
        (left.weight, left.isLonger ? 1 : 0) < (right.weight, right.isLonger ? 1 : 0)
    }
}

extension SearchText {
    /// Whether a word stands in the text.
    ///
    /// - Parameter isLonger: whether as the beginning of a longer one, too.
    func has(_ word: SearchWords.Word, isLonger: Bool) -> Bool {
        words.contains { held in
            guard held.isUnspaced == word.isUnspaced else { return false }
            guard !word.isUnspaced else { return !places(of: word.bytes, in: held).isEmpty }
            return begins(held, with: word.bytes, isLonger: isLonger)
        }
    }

    /// Where a word stands, in `bytes`; of a longer one its beginning.
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

    /// What begins as a letter does is one in UTF-8, so that any part that is alike is.
    private func places(of part: [UInt8], in word: Word) -> [Range<Int>] {
        guard part.count <= word.range.count else { return [] }
        return (word.range.lowerBound...word.range.upperBound - part.count)
            .filter { holds(part, at: $0) }.map { $0..<$0 + part.count }
    }

    /// Whether bytes stand at a place that has room for them.
    private func holds(_ part: [UInt8], at start: Int) -> Bool {
        for (offset, byte) in part.enumerated() where bytes[start + offset] != byte {
            return false
        }
        return true
    }
}
