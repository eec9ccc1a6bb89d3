/// The words used in titles, names and comments; none of them needs escaping in JSON.
enum ActivityTexts {
    static let adjectives: [StaticString] = [
        "Slow", "Last", "Little", "Northern", "Hidden", "Bright", "Second", "Quiet", "Crème",
        "Golden", "Early", "Paper", "Broken", "Distant", "Blue", "Wild",
    ]

    static let nouns: [StaticString] = [
        "train", "kitchen", "harbour", "machine", "garden", "signal", "winter", "lesson", "bridge",
        "mountain", "letter", "orchestra", "café", "rocket", "river", "match",
    ]

    static let tails: [StaticString] = [
        "live", "part 1", "part 2", "explained", "in Zürich", "remix", "trailer", "from above",
        "at night", "unboxed", "for beginners", "interview", "in 4K", "the end", "東京", "review",
    ]

    static let people: [StaticString] = [
        "ada", "ben", "chloé", "dora", "emil", "fatima", "goran", "hana", "ivo", "jana", "kofi",
        "lena", "mateo", "nora", "omar", "pia",
    ]

    static let openings: [StaticString] = [
        "I like", "Who knows", "You must see", "Cannot stop watching", "So that is", "Remember",
        "Not sure about", "Wait for",
    ]

    static let endings: [StaticString] = [
        "the ending", "the second minute", "this song", "the dog", "what she says", "the light",
        "that jump", "the subtitles",
    ]

    static let networks: [StaticString] = ["twitter", "facebook", "tumblr", "app"]
}
