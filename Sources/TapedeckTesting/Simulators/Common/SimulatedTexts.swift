/// Random titles, names and comments.
enum SimulatedTexts {
    static func title(_ random: inout SeededGenerator) -> String {
        let adjective = random.pick(ActivityTexts.adjectives)
        let noun = random.pick(ActivityTexts.nouns)
        return "\(adjective) \(noun), \(random.pick(ActivityTexts.tails))"
    }

    static func comment(_ random: inout SeededGenerator) -> String {
        let opening = random.pick(ActivityTexts.openings)
        return "\(opening) \(random.pick(ActivityTexts.endings))"
    }

    static func person(_ number: Int) -> String {
        "\(ActivityTexts.people[number % ActivityTexts.people.count])"
    }

    /// Returns an id in the style of YouTube: 11 letters, digits, `-` and `_`.
    static func youtubeID(_ random: inout SeededGenerator) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        return String((0..<11).map { _ in random.pick(letters) })
    }
}
