public import TapedeckModel
package import TapedeckProjections

/// A live search; see `VideoQueries.search`.
///
/// ```swift
/// var hits: [SearchHit] = []
/// for try await update in store.live(try LiveSearch("zoe car", in: .videos)) {
///     update.apply(to: &hits)
/// }
/// ```
///
/// After a commit, only the text that changed is searched. If there are more hits than `limit`,
/// replacing a hit that drops out costs one lookup.
public struct LiveSearch: Sendable {
    private let words: SearchWords
    private let scope: SearchScope?
    private let searched: [any Projection]
    private let queried: VideoProjections
    /// The maximum number of hits.
    package let limit: Int

    /// The maximum number of broadcasts of a changed video that are checked again.
    ///
    /// If a changed video has more broadcasts, the entire search is repeated.
    private static let broadcastsMax = 256

    /// Creates a search for words.
    ///
    /// Throws `ModelError` if the text cannot be searched for; see `SearchLimits.check`.
    ///
    /// - Parameters:
    ///   - text: The words.
    ///   - scope: The scope of the search; nil for everything.
    ///   - limit: The maximum number of hits.
    public init(
        _ text: String, in scope: SearchScope? = nil, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) throws(ModelError) {
        words = try SearchWords(text)
        (self.scope, self.limit, queried) = (scope, limit, projections)
        searched = projections.searched(in: scope)
    }
}

extension LiveSearch: LiveRanking {
    package var projections: [any Projection] { searched }

    package var systems: [String] {
        switch scope {
        case .videos: [Shelby.system, BirdTube.system]
        case .shows: [TVmaze.system]
        case .users, .questions: [Whale.system]
        case nil: [Shelby.system, Whale.system, BirdTube.system, TVmaze.system]
        }
    }

    /// Returns the changed parts and all broadcasts of changed videos, or nil if a video has too
    /// many broadcasts.
    ///
    /// The broadcasts are included because a video shows the title of one broadcast, and whether
    /// another broadcast is a hit depends on that choice.
    package func parts(
        touchedBy changed: Set<LivePart>, _ views: Views
    ) throws -> Set<LivePart>? {
        var touched = changed
        for part in changed
        where part.item == nil && searched[part.index] is SearchIndex<SharedVideos> {
            let broadcasts = try views.items(
                of: queried.searchVideos, key: part.key, prefix: RowKey(BroadcastItems.byTime),
                after: nil, limit: LiveSearch.broadcastsMax + 1)
            guard broadcasts.count <= LiveSearch.broadcastsMax else { return nil }
            for item in broadcasts {
                touched.insert(LivePart(part.index, part.key, item: item.key))
            }
        }
        return touched
    }

    package func entries(
        of part: LivePart, _ views: Views
    ) throws -> [LiveRanked<SearchPosition, SearchHit>] {
        let sources = queries(views).sources(in: scope).filter { index(of: $0) == part.index }
        return try sources.flatMap { source in
            try source.things(of: part.key, item: part.item).compactMap { thing in
                words.rank(of: thing).map {
                    LiveRanked(
                        SearchPosition($0, source.number, thing.place), part,
                        SearchHit(thing, words))
                }
            }
        }
    }

    package func entries(
        after place: SearchPosition?, limit: Int, _ views: Views
    ) throws -> [LiveRanked<SearchPosition, SearchHit>] {
        try queries(views).found(words, in: scope, after: place, limit: limit).compactMap { found in
            guard let index = index(of: found.source),
                let (key, item) = found.source.part(at: found.thing.place)
            else { return nil }
            return LiveRanked(
                found.position, LivePart(index, key, item: item), SearchHit(found.thing, words))
        }
    }

    package func subject(of hit: SearchHit) -> [String?] { [hit.kind.rawValue, hit.about, hit.id] }

    private func queries(_ views: Views) -> VideoQueries<Views> {
        VideoQueries(views, projections: queried)
    }

    private func index(of source: SearchSource) -> Int? {
        searched.firstIndex { $0.name == source.index.name }
    }
}
