import Tapedeck
import TapedeckTesting
import Testing

/// An incrementally updated search index equals a rebuilt one.
@Suite struct SearchFollowTests {
    @Test func incrementalAndRebuiltIndexesFindTheSameHits() throws {
        let place = try TemporaryStore("search-follow")
        let store = try place.open()
        defer { store.close() }
        let projections = VideoProjections.standard
        let names = projections.searched().map(\.name)
        let events = try GoldenDigestTests.history()
        try store.projections.read(names) { _ in }
        for start in stride(from: 0, to: events.count, by: 500) {
            try store.log.appendBlocking(Array(events[start..<min(start + 500, events.count)]))
            try store.projections.read(names) { _ in }
        }
        let (report, differences) = try store.projections.verify(names)
        #expect(differences.isEmpty)
        #expect(report.projections.map(\.name) == names)
        #expect(report.projections.allSatisfy { $0.rows > 0 })
        func pages() throws -> [SearchPage] {
            try store.projections.read(names) { views in
                try ["s", "sho", "take 1", "said 2", "why", "n1", "title"].map {
                    try VideoQueries(views).search($0, limit: 500)
                }
            }
        }
        let followed = try pages()
        #expect(followed.filter(\.hits.isEmpty).count <= 1)
        _ = try store.projections.rebuild(names)
        #expect(try pages() == followed)
    }
}
