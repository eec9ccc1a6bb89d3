import Foundation
import Testing

@testable import TapedeckVideo

/// Folding text and splitting it into words, which the rows of a search index depend on.
///
/// Do not change these expectations without a new version of `SearchIndex`.
@Suite struct SearchTextTests {
    struct Folding: CustomTestStringConvertible {
        let text: String
        let terms: [String]
        var testDescription: String { text }

        init(_ text: String, _ terms: String...) { (self.text, self.terms) = (text, terms) }
    }

    static let foldings = [
        Folding("The QUICK brown-fox", "the", "quick", "brown", "fox"),
        Folding("Straße STRASSE ẞ", "strasse", "ss"),
        Folding("Zoë Cre\u{301}me Brûlée", "zoe", "creme", "brulee"),
        Folding("İstanbul ISTANBUL ıstanbul", "istanbul"),
        Folding("Ὀδυσσεύς ΟΔΥΣΣΕΥΣ", "οδυσσευσ"),
        Folding("Война и мир, Ёлка", "воина", "и", "мир", "елка"),
        Folding("ﬁlm Ａｂｃ１２ ㎏ ①", "film", "abc12", "kg", "1"),
        Folding(
            "don't rock'n'roll C++ #tag @me", "don", "t", "rock", "n", "roll", "c", "tag", "me"),
        Folding("1080p 3.5 S01E02", "1080p", "3", "5", "s01e02"),
        Folding("ørsted Łódź", "ørsted", "łodz"),
        Folding("سَلَام عليكم", "سلام", "عليكم"),
        Folding("שָׁלוֹם", "שלום"),
        Folding("हिन्दी में", "हिनदी", "में"),
        Folding("한국어 비디오", "한국어".decomposed, "비디오".decomposed),
        Folding("東京タワー", "東京", "京タ", "タワ", "ワー", "ー"),
        Folding("ﾊﾟｰﾃｨ", "ハー", "ーテ", "ティ", "ィ"),
        Folding("Tシャツ", "t", "シャ", "ャツ", "ツ"),
        Folding("ไทยน้ำ", "ไท", "ทย", "ยน", "น\u{E4D}", "\u{E4D}า", "า"),
        Folding("山", "山"),
        Folding("co\u{AD}op \u{200D}x", "coop", "x"),
        Folding("🎬 … !?"),
        Folding(String(repeating: "ab", count: 40), String(repeating: "ab", count: 12)),
    ]

    @Test(arguments: foldings)
    func textIsSplitIntoFoldedTerms(_ folding: Folding) {
        let text = SearchText(folding.text)
        let found = Set(text.terms.map { String(decoding: text.bytes[$0], as: UTF8.self) })
        #expect(found.sorted() == folding.terms.sorted())
    }

    /// Newer operating systems must build the same index as older systems.
    @Test func lettersOfNewerUnicodeVersionsAreNotFolded() {
        // U+1C89, added in Unicode 16, is a capital letter with a separate lowercase character.
        #expect(SearchText("a\u{1C89}É").bytes == Array("a\u{1C89}e".utf8))
        #expect(SearchText("a\u{1C89}É").words.count == 1)
    }

    @Test func foldingIsIndependentOfContext() {
        var generator = SeededGenerator(seed: runSeed)
        let alphabet = Self.foldings.flatMap { Array($0.text.unicodeScalars) }
        for _ in 0..<2_000 {
            let scalars = (0..<Int.random(in: 0...12, using: &generator)).compactMap {
                _ -> Unicode.Scalar? in
                let limits: [UInt32] = [0x7F, 0x2FFFF]
                let limit = limits.randomElement(using: &generator) ?? 0
                return Bool.random(using: &generator)
                    ? alphabet.randomElement(using: &generator)
                    : Unicode.Scalar(UInt32.random(in: 0...limit, using: &generator))
            }
            let text = String(String.UnicodeScalarView(scalars))
            let whole = SearchText.folded(text)
            #expect(
                whole == scalars.flatMap { SearchText.folded(String($0)) },
                "\(scalars): TAPEDECK_SEED=\(runSeed)")
            let folded = String(String.UnicodeScalarView(whole))
            #expect(SearchText.folded(folded) == whole, "\(scalars): TAPEDECK_SEED=\(runSeed)")
            // `SearchText` folds ASCII byte by byte.
            #expect(
                SearchText(text).bytes == Array(folded.utf8),
                "\(scalars): TAPEDECK_SEED=\(runSeed)")
        }
    }

    @Test func matchesCoverWholeCharacters() throws {
        func matches(_ words: String, in text: String) throws -> [String] {
            let folded = SearchText(text)
            let places = try SearchWords(words).words.flatMap(folded.places)
            return SearchText.ranges(of: places, in: text).map {
                String(decoding: Array(text.utf8)[$0], as: UTF8.self)
            }
        }
        #expect(try matches("zo", in: "Zoë, ZOO and Cazo") == ["Zo", "ZO"])
        #expect(try matches("zoe", in: "Zoe\u{308}!") == ["Zoe\u{308}"])
        #expect(try matches("stras", in: "die Straße") == ["Straß"])
        #expect(try matches("f", in: "ﬁlm") == ["ﬁ"])
        #expect(try matches("京タ", in: "東京タワー") == ["京タ"])
        #expect(
            try matches("the cat", in: "the cat, the cats, theme") == ["the", "cat", "the", "cat"])
        #expect(try matches("한", in: "한국어") == ["한"])
        #expect(try matches("dog", in: "the cat").isEmpty)
    }
}

extension String {
    fileprivate var decomposed: String { decomposedStringWithCanonicalMapping }
}
