public import TapedeckModel
public import TapedeckProjections

/// A page of search results.
public struct SearchPage: Codable, Hashable, Sendable {
    /// The hits, best first.
    public var hits: [SearchHit]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A search hit, with its texts.
public struct SearchHit: Codable, Hashable, Sendable {
    /// The kind of hit.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// A shared video, found by its titles and its sharer.
        case video
        /// A submitted video, found by its title and its owner.
        case submission
        /// A comment on a video or an answer, or the text of a broadcast.
        case comment
        /// A show, found by its name and its network.
        case show
        /// A user, found by name.
        case user
        /// A question.
        case question
    }

    /// The kind of hit.
    public var kind: Kind
    /// The video as `provider:id`, or the id of the show, user, question or comment.
    public var id: String
    /// The subject of a comment, `video/provider:id` or `answer/id`; nil for other kinds.
    @NullWhenNil public var about: String?
    /// The time at which a video was last shared or submitted, a comment was made, or a question
    /// was asked here; for a show, the day of its premiere.
    @NullWhenNil public var at: UTCTime?
    /// The texts of the hit, most informative first.
    public var texts: [SearchedText]
}

/// A piece of text in a search hit.
public struct SearchedText: Codable, Hashable, Sendable {
    /// The field that contains the text.
    public var field: SearchField
    /// The text.
    public var text: String
    /// The positions of the matched words in the text; empty if only other texts contain the words.
    public var matches: [SearchMatch]
}

/// A range of the text, as offsets into its UTF-8 bytes.
public struct SearchMatch: Codable, Hashable, Sendable {
    /// The offset of the first byte.
    public var start: Int
    /// The offset after the last byte.
    public var end: Int
}

/// A field that is searched.
public enum SearchField: String, Codable, Sendable, CaseIterable {
    /// The title of a video.
    case title
    /// A video's title in another broadcast, included only if the search matched this title.
    case otherTitle
    /// The name of a show or a user.
    case name
    /// The text of a question.
    case question
    /// The user who shared a video.
    case sharer
    /// The remote's name for the account that submitted a video.
    case owner
    /// The author of a comment.
    case author
    /// The network or web channel of a show.
    case network
    /// The text of a comment.
    case comment
}

/// The scope of a search.
public enum SearchScope: String, Codable, Sendable, CaseIterable {
    /// Shared and submitted videos, including the text of broadcasts and comments, but not chats.
    case videos
    /// Shows.
    case shows
    /// Users.
    case users
    /// Questions, and comments on answers.
    case questions
}

/// The limits of a search.
public enum SearchLimits {
    /// The maximum length of the searched text, in UTF-8 bytes.
    public static let textBytesMax = 1_024
    /// The maximum number of words in a search.
    public static let wordsMax = 16

    /// Throws `ModelError` if the text cannot be searched for: `.usage` if it contains no word,
    /// `.tooLarge` if it is too long or has too many words.
    public static func check(_ text: String) throws(ModelError) { _ = try SearchWords(text) }
}

extension VideoProjections {
    /// Returns the projections that a search reads; pass their names to the query that runs the
    /// search.
    ///
    /// - Parameter scope: The scope of the search; nil for everything.
    public func searched(in scope: SearchScope? = nil) -> [any Projection] {
        switch scope {
        case .videos: [searchVideos, searchSubmissions]
        case .shows: [searchShows]
        case .users: [searchUsers]
        case .questions: [searchQuestions, searchUsers, searchAnswers]
        case nil:
            [
                searchVideos, searchSubmissions, searchShows, searchUsers, searchQuestions,
                searchAnswers,
            ]
        }
    }
}

extension VideoQueries {
    /// Finds videos, shows, users, questions and comments by words in their texts, best match
    /// first.
    ///
    /// ```swift
    /// let projections = VideoProjections.standard
    /// let page = try await store.query(projections.searched(in: .videos).map(\.name)) {
    ///     try VideoQueries($0).search("zoe car", in: .videos)
    /// }
    /// ```
    ///
    /// All words must occur in the texts of a single hit. Each word must match a whole word, except
    /// the last one, which may match the beginning of a word. Case, accents and width are ignored.
    /// Words are runs of letters and digits; in scripts without spaces, any part of a run matches.
    ///
    /// Matches in titles, names and questions come first, then matches in sharers, owners and
    /// authors, then in networks, then in comments. Among hits of the same rank, hits that contain
    /// the last word as a whole word come first, then the newest hits. If different words match in
    /// different fields, the field that comes last in this order determines the rank of the hit.
    ///
    /// A shared video is found by the titles of all its broadcasts. A video that was also submitted
    /// also appears as a submission. Chats are not searched.
    ///
    /// The index is built the first time a query names it, and is kept up to date after that. The
    /// cost of a page depends on its size, not on the number of hits. A search for several very
    /// common words that rarely occur together is an exception, because it reads all matches of one
    /// of these words. Throws `ModelError` with `.usage` if the text contains no word, and with
    /// `.tooLarge` if it exceeds `SearchLimits`.
    ///
    /// - Parameters:
    ///   - text: The words.
    ///   - scope: The scope of the search; nil for everything.
    ///   - limit: The maximum number of hits.
    ///   - cursor: The `next` of the previous page, for the same words and scope.
    public func search(
        _ text: String, in scope: SearchScope? = nil, limit: Int = QueryLimits.pageCountDefault,
        cursor: String? = nil
    ) throws -> SearchPage {
        try QueryLimits.check(limit)
        let words = try SearchWords(text)
        let name = words.name(in: scope)
        let after = try PageCursor.key(.search, cursor).map { key in
            guard key.starts(with: name) else {
                throw ModelError(
                    .usage, "the cursor belongs to another search",
                    hint:
                        "pass the \"next\" value of a page of results for the same words and scope")
            }
            return try SearchPosition(Array(key.dropFirst(name.count)))
        }
        let found = try found(words, in: scope, after: after, limit: limit + 1)
        let page = found.prefix(limit)
        let next = found.count > limit ? page.last?.position : nil
        return SearchPage(
            hits: page.map { SearchHit($0.thing, words) },
            next: next.map { PageCursor.text(.search, name + $0.bytes) })
    }

    /// Returns the matches for words, best first.
    ///
    /// - Parameter after: The position after which to start; nil to start at the front.
    func found(
        _ words: SearchWords, in scope: SearchScope?, after: SearchPosition?, limit: Int
    ) throws -> [(position: SearchPosition, source: SearchSource, thing: SearchThing)] {
        let sources = sources(in: scope)
        var found: [(SearchPosition, SearchSource, SearchThing)] = []
        for rank in SearchRank.all where after.map({ $0.rank <= rank }) ?? true {
            guard found.count < limit else { break }
            var passes = try sources.compactMap { source in
                try SearchPass(
                    source, words, rank, from: after?.target(of: source.number, in: rank) ?? [])
            }
            while found.count < limit, let best = SearchPass.first(of: passes),
                let thing = passes[best].thing
            {
                let source = passes[best].source
                found.append((SearchPosition(rank, source.number, thing.place), source, thing))
                try passes[best].advance()
            }
        }
        return found
    }

    func sources(in scope: SearchScope?) -> [SearchSource] {
        var sources: [SearchSource] = []
        func isSearched(_ wanted: SearchScope) -> Bool { scope == nil || scope == wanted }
        if isSearched(.videos) {
            sources.append(source(projections.searchVideos, .video, 0))
            sources.append(source(projections.searchVideos, .comment, 1, isOf: winner))
            sources.append(source(projections.searchSubmissions, .submission, 7))
        }
        if isSearched(.shows) { sources.append(source(projections.searchShows, .show, 2)) }
        if isSearched(.users) { sources.append(source(projections.searchUsers, .user, 3)) }
        if isSearched(.questions) {
            sources.append(source(projections.searchUsers, .question, 4))
            sources.append(source(projections.searchQuestions, .question, 5))
            sources.append(source(projections.searchAnswers, .comment, 6))
        }
        return sources
    }

    /// Creates a source of search results.
    ///
    /// - Parameter owner: Returns the broadcast that represents a video.
    private func source<Base>(
        _ index: SearchIndex<Base>, _ kind: SearchHit.Kind, _ number: UInt8,
        isOf owner: @escaping (Tag) throws -> [UInt8]? = { _ in nil }
    ) -> SearchSource {
        let reader = reader
        return SearchSource(number, kind, of: index, firstTable: index.firstTable(of: kind)) {
            table, lower, upper, limit in
            try reader.rows(
                of: index, table: table, lower: RowKey(lower), upper: RowKey(upper),
                after: nil, limit: limit)
        } things: { key, item in
            guard let item else {
                let state = try reader.state(of: index, key: key)
                return state.map { index.things($0, key) } ?? []
            }
            guard let find = index.thingOfItem,
                let value = try reader.item(of: index, key: key, name: RowKey(item)),
                var thing = try find(Row(key: item, value: value), key)
            else { return [] }
            // A search for this broadcast's sharer already finds the video itself.
            if let broadcast = thing.broadcast, try owner(key) == broadcast {
                thing.weightMin = SearchField.comment.weight
            }
            return [thing]
        }
    }

    /// Returns the broadcast that gives a video its title and its sharer.
    private func winner(of video: Tag) throws -> [UInt8]? {
        try reader.state(of: projections.searchVideos, key: video)?.video.winner?.id
    }
}

/// The position of a match in the order of all matches.
package struct SearchPosition: Comparable {
    let rank: SearchRank
    let source: UInt8
    let place: SearchPlace

    init(_ rank: SearchRank, _ source: UInt8, _ place: SearchPlace) {
        (self.rank, self.source, self.place) = (rank, source, place)
    }

    init(_ bytes: [UInt8]) throws(ModelError) {
        guard bytes.count > 3 else {
            throw ModelError(.usage, "the cursor does not belong to a search")
        }
        rank = SearchRank(weight: bytes[0], isLonger: bytes[1] != 0)
        source = bytes[2]
        place = SearchPlace(Array(bytes[3...]))
    }

    var bytes: [UInt8] { [rank.weight, rank.isLonger ? 1 : 0, source] + place.bytes }

    /// Returns the place in a source at which the matches after this position begin.
    func target(of source: UInt8, in rank: SearchRank) -> [UInt8] {
        guard rank == self.rank else { return [] }
        return source <= self.source ? place.bytes + [0] : place.bytes
    }

    /// Orders by rank, then by place, then by source.
    package static func < (left: SearchPosition, right: SearchPosition) -> Bool {
        if left.rank != right.rank { return left.rank < right.rank }
        if left.place == right.place { return left.source < right.source }
        return left.place.bytes.lexicographicallyPrecedes(right.place.bytes)
    }
}

extension SearchRank {
    /// All ranks, best first.
    fileprivate static let all = Set(SearchField.allCases.map(\.weight)).sorted().flatMap {
        [SearchRank(weight: $0, isLonger: false), SearchRank(weight: $0, isLonger: true)]
    }
}

extension SearchPass {
    /// Returns the index of the pass with the first match.
    fileprivate static func first(of passes: [SearchPass]) -> Int? {
        passes.indices.filter { passes[$0].thing != nil }.min { left, right in
            guard let a = passes[left].thing?.place.bytes, let b = passes[right].thing?.place.bytes
            else { return false }
            return a.lexicographicallyPrecedes(b)
        }
    }
}

extension SearchHit {
    init(_ thing: SearchThing, _ words: SearchWords) {
        self.init(
            kind: thing.kind, id: thing.id, about: thing.about?.text,
            at: thing.at.map(UTCTime.init),
            texts: words.toldTexts(of: thing).map { text in
                let places = text.isSearched ? words.words.flatMap(text.folded.places) : []
                return SearchedText(
                    field: text.field, text: text.text,
                    matches: SearchText.ranges(of: places, in: text.text).map {
                        SearchMatch(start: $0.lowerBound, end: $0.upperBound)
                    })
            })
    }
}

extension SearchHit.Kind {
    /// The fields by which hits of this kind are found.
    var fields: [SearchField] {
        switch self {
        case .video: [.title, .otherTitle, .sharer]
        case .submission: [.title, .owner]
        case .comment: [.author, .comment]
        case .show: [.name, .network]
        case .user: [.name]
        case .question: [.question]
        }
    }

    /// Whether the index has rows for prefixes.
    var hasStarts: Bool { self != .comment }

    /// The names of the tables for this kind in an index.
    var tables: [String] {
        hasStarts ? ["\(rawValue)-terms", "\(rawValue)-starts"] : ["\(rawValue)-terms"]
    }
}

extension SearchField {
    /// The rank of a match in this field; a lower number is better.
    var weight: UInt8 {
        switch self {
        case .title, .otherTitle, .name, .question: 1
        case .sharer, .owner, .author: 2
        case .network: 3
        case .comment: 4
        }
    }
}
