package import TapedeckModel
package import TapedeckProjections

/// A video whose mark a viewing has taken away, of which a remote has not heard: a row of `WatchLater`.
package struct WatchLaterUnset: Hashable, Sendable {
    /// The video.
    package var key: Tag
    /// The report that crossed.
    package var crossing: EventID

    init(key: Tag, crossing: EventID) {
        self.key = key
        self.crossing = crossing
    }

    var encoded: [UInt8] {
        var writer = StateWriter()
        writer.add(key.text)
        writer.add(Optional(crossing))
        return writer.bytes
    }

    /// Rows behind one, with the bytes to go on from.
    package static func page(
        of watchLater: WatchLater, _ views: some ViewReader, after: [UInt8]?, limit: Int
    ) throws -> [(row: [UInt8], unset: WatchLaterUnset)] {
        try views.rows(
            of: watchLater, table: 1, lower: nil, upper: nil, after: after, limit: limit
        ).compactMap { row in
            try StateReader.read(row.value) { (reader) throws(ModelError) in
                let key = try Tag(try reader.string())
                guard let crossing = try reader.optionalEventID() else { return nil }
                return (row.key, WatchLaterUnset(key: key, crossing: crossing))
            }
        }
    }
}

/// What a remote tells of a video's broadcasts, for those that speak with it.
package struct KnownBroadcasts: Sendable {
    /// A broadcast.
    package struct Broadcast: Hashable, Sendable {
        package var id: String
        package var isLiked: Bool
        package var isWatched: Bool
    }

    /// The broadcast that stands for all; nil where there is none.
    package var winner: String?
    /// Up to `countMax` of them, the oldest first.
    package var broadcasts: [Broadcast] = []
    /// Those told as marked to be seen later.
    package var told: [ToldMark] = []

    /// More broadcasts of one video are not looked at.
    package static let countMax = 500

    /// Looks a video up in projections that `views` holds.
    package init(
        _ video: Tag, _ views: some ViewReader, _ projections: VideoProjections
    ) throws {
        winner = try views.state(of: projections.videos, key: video)?.winner?.id.utf8Text
        told = try views.state(of: projections.watchLater, key: video)?.told ?? []
        for row in try views.items(
            of: projections.videos, key: video, prefix: RowKey(BroadcastItems.byTime), after: nil,
            limit: KnownBroadcasts.countMax)
        {
            guard let place = BroadcastItems.place(name: row.key) else { continue }
            let record = try BroadcastRecord(decoding: row.value)
            broadcasts.append(
                Broadcast(
                    id: place.id.utf8Text, isLiked: record.liked == true,
                    isWatched: record.watched == true))
        }
    }
}
