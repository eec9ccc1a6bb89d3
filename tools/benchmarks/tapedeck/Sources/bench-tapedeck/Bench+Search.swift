import Foundation
import Tapedeck

/// A page of search results for the first letters of a word.
extension Bench {
    private static let questions = 200

    /// Fills a store with `events` videos, each shared once with a comment, and builds the search
    /// index.
    func fillSearch() throws {
        let log = try EventLog.create(directory, options: .init(unindexedEventsMax: .max))
        for start in stride(from: 0, to: events, by: 10_000) {
            try log.appendBlocking(
                try (start..<min(start + 10_000, events)).map { number in
                    let texts = Texts(seed: seed, video: UInt64(number))
                    let second = 1_300_000_000 + Int64(number)
                    let said = BroadcastReceived.with {
                        ($0.broadcast, $0.video) = ("b\(number)", "vimeo:\(number + 1)")
                        ($0.title, $0.sharer) = (texts.title, texts.sharer)
                        $0.comment = texts.comment
                        $0.createdAt = .init(seconds: second)
                    }
                    return try ProposedEvent(observation: said, observedAt: second * 1_000)
                })
        }
        try log.indexAll()
        let projections = ProjectionRunner(log, projections: VideoProjections.standard.all)
        let duration = try timed { _ = try projections.rebuild(Bench.indexes) }
        projections.close()
        log.close()
        line(duration)
    }

    private static let indexes = VideoProjections.standard.searched(in: .videos).map(\.name)

    /// Searches for the first 20 videos that match the most common three-letter prefix.
    func search() throws {
        let store = try TapedeckStore.open(directory, creating: false)
        var (seconds, sum): ([Double], UInt64) = ([], 0)
        // The first queries load pages into the cache and are not counted.
        for question in -20..<Bench.questions {
            var page: SearchPage?
            let duration = try timed {
                page = try store.projections.read(Bench.indexes) {
                    try VideoQueries($0).search(
                        Texts.commonestBeginning, in: .videos, limit: 20)
                }
            }
            guard let hits = page?.hits, hits.count == 20,
                hits.allSatisfy({ $0.texts.first?.matches.isEmpty == false })
            else { throw BenchError("\(page as Any)") }
            sum = hits.reduce(0) { $0 + (UInt64($1.id.dropFirst("vimeo:".count)) ?? 0) }
            if question >= 0 { seconds.append(duration.seconds) }
        }
        let views = try store.projections.viewsFiles().filter(\.isOwn)
        let bytes = views.reduce(0) { $0 + $1.bytes }
        store.close()
        line(
            seconds,
            [
                ("bytesPerVideo", "\(Double(bytes) / Double(events))"),
                ("checksum", "\"\(sum.hex)\""),
            ])
    }
}
