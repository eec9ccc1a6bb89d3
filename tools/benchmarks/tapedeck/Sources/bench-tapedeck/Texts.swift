/// The titles, names and comments of the search benchmarks; `peers/texts.h` is the reference.
struct Texts {
    private static let octaves: UInt64 = 17
    private static let titleWords = 6
    private static let commentWords = 4

    let title: String
    let sharer: String
    let comment: String

    init(seed: UInt64, video: UInt64) {
        func draw(_ number: Int) -> UInt64 {
            mix(
                seed &+ (16 &* video &+ UInt64(number) &+ 1) &* 0x9E37_79B9_7F4A_7C15)
        }
        func word(_ number: Int) -> String {
            let random = draw(number)
            let low: UInt64 = (1 << ((random >> 32) % Texts.octaves)) - 1
            return Texts.word(low + (random & low))
        }
        title = (0..<Texts.titleWords).map(word).joined(separator: " ")
        comment = (0..<Texts.commentWords).map { "z" + word(Texts.titleWords + $0) }
            .joined(separator: " ")
        sharer = "zoe \(draw(15) % 5_000)"
    }

    /// The first three letters of the most common word.
    static var commonestBeginning: String { String(word(0).prefix(3)) }

    private static func word(_ rank: UInt64) -> String {
        let consonants = Array("bcdfghjklmnpqrstvwxy".utf8)
        let vowels = Array("aeiou".utf8)
        var hash = mix(rank + 1)
        var letters: [UInt8] = []
        for _ in 0..<(2 + hash % 3) {
            hash >>= 8
            letters.append(consonants[Int(hash % 20)])
            letters.append(vowels[Int(hash / 20 % 5)])
        }
        return String(decoding: letters, as: UTF8.self)
    }
}
