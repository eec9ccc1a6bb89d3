import Tapedeck
import TapedeckModel
import TapedeckProjections
import Testing

/// A list as one who follows it has it, and the query that gives the same.
struct FollowedList<Entry: Hashable & Sendable> {
    let name: String
    let loop: LiveLoop<LiveList<Entry>>
    let read: (VideoQueries<Views>, UTCTime) throws -> (entries: [Entry], hasMore: Bool)
    private var list: [Entry] = []
    private var hasMore = false

    init(
        _ name: String, _ store: TapedeckStore, _ list: LiveList<Entry>,
        _ read: @escaping (VideoQueries<Views>, UTCTime) throws -> (entries: [Entry], hasMore: Bool)
    ) {
        (self.name, self.read) = (name, read)
        loop = LiveLoop(store.projections, list)
    }

    /// Looks, and compares with the query.
    mutating func check(_ store: TapedeckStore, _ note: String) throws {
        if let update = try loop.look() {
            update.apply(to: &list)
            hasMore = update.hasMore
        }
        let now = UTCTime(milliseconds: Int64(store.log.now()))
        let found = try store.projections.read { try read(VideoQueries($0), now) }
        try #require(list == found.entries, "\(name), \(note)")
        #expect(hasMore == found.hasMore, "\(name), \(note)")
    }
}
