import Foundation
import Tapedeck
import TapedeckTesting

/// Stores and files of generated activity, with every projection live.
extension Bench {
    /// Fills a store with activity about videos, indexes all events except the last `tail`, and
    /// builds the projections.
    func fill(tail: Int) throws {
        var activity = ActivityGenerator(seed: seed, videos: videos)
        try fill(tail: tail) { try activity.next().event() }
    }

    /// Fills a store with indexed activity of every type, and builds every projection, including
    /// the ones built on demand.
    func fillAll() throws {
        var activity = MixedActivityGenerator(seed: seed, videos: videos)
        try fill(tail: 0) { try activity.next().proposal }
        let log = try EventLog(opening: directory)
        let projections = ProjectionRunner(log, projections: VideoProjections.standard.all)
        _ = try projections.rebuild(Bench.all)
        projections.close()
        log.close()
    }

    private static var all: [String] { VideoProjections.standard.all.map(\.name) }

    private func fill(tail: Int, next: () throws -> ProposedEvent) throws {
        // The store is directly in `DIR`, because `DIR` is passed to storectl.
        let log = try EventLog.create(directory, options: .init(unindexedEventsMax: .max))
        let duration = try timed {
            var batch: [ProposedEvent] = []
            for index in 0..<events {
                batch.append(try next())
                let isEnd = index == events - 1 || index == events - 1 - tail
                if batch.count == 10_000 || isEnd {
                    try log.appendBlocking(batch)
                    batch.removeAll(keepingCapacity: true)
                }
                if index == events - 1 - tail { try log.indexAll() }
            }
        }
        let projections = ProjectionRunner(log, projections: VideoProjections.standard.all)
        if tail > 0 { _ = try projections.rebuild() }
        projections.close()
        log.close()
        line(duration)
    }

    // MARK: - Keeping every projection up to date

    private func mixed() throws -> [ProposedEvent] {
        var activity = MixedActivityGenerator(seed: seed, videos: videos)
        return try (0..<events).map { _ in try activity.next().proposal }
    }

    /// Writes the activity of `append-live` for the peer: each payload as JSON, from which the peer
    /// makes rows, and as the bytes that the peer stores.
    func writeActivity() throws {
        var bytes: [UInt8] = []
        let duration = try timed {
            for event in try mixed() {
                let payload = try EventCatalogue.video.json(
                    type: event.type, payload: event.payload)
                let tags = event.tags.map { "\"\($0.text)\"" }.joined(separator: ",")
                bytes += Array(
                    "{\"type\":\"\(event.type.name)\",\"at\":\(event.atMilliseconds ?? 0)".utf8)
                bytes += Array(",\"tags\":[\(tags)],\"payload\":\(payload ?? "{}")".utf8)
                let base64 = Data(event.payload).base64EncodedString()
                bytes += Array(",\"bytes\":\"\(base64)\"}\n".utf8)
            }
        }
        try Data(bytes).write(to: URL(fileURLWithPath: directory + "/activity.ndjson"))
        line(duration)
    }

    /// Appends 1,000 events per commit while every projection is kept up to date; ends when all
    /// projections have processed every event.
    func appendLive() throws {
        try? FileManager.default.removeItem(atPath: store)
        let proposals = try mixed()
        let log = try EventLog.create(store)
        let standard = VideoProjections.standard
        let projections = ProjectionRunner(log, projections: standard.all)
        // On-demand projections are kept up to date after their first use.
        _ = try projections.rebuild(Bench.all)
        projections.follow()
        let duration = try timed {
            for start in stride(from: 0, to: events, by: Bench.batchCount) {
                try log.appendBlocking(
                    Array(proposals[start..<min(start + Bench.batchCount, events)]))
            }
            try projections.read(Bench.all) { _ in }
        }
        let (videos, episodes) = try projections.read(Bench.all) { views in
            (try count(views, standard.videos), try count(views, standard.schedule))
        }
        projections.close()
        log.close()
        let sum = UInt64(videos) << 32 | UInt64(episodes)
        line(duration, [("checksum", "\"\(sum.hex)\"")])
    }

    /// Returns the number of rows in the first table of a projection.
    private func count(_ views: Views, _ projection: some Projection) throws -> Int {
        var count = 0
        var after: [UInt8]?
        while true {
            let rows = try views.rows(
                of: projection, table: 0, lower: nil, upper: nil, after: after, limit: 1_000)
            count += rows.count
            guard let last = rows.last else { return count }
            after = last.key
        }
    }
}
