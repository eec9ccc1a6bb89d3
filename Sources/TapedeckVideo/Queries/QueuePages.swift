internal import TapedeckModel
internal import TapedeckProjections

/// A page of a queue.
public struct QueuePage: Codable, Hashable, Sendable {
    /// The videos, the one to be played first in front.
    public var videos: [QueuePageEntry]
    /// How many there are in all.
    public var count: Int
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// A video in a queue.
public struct QueuePageEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var video: String
    /// When it was put where it is.
    public var at: UTCTime
    /// The video before it; nil for the first.
    @NullWhenNil public var previous: String?
    /// The video behind it; nil for the last.
    @NullWhenNil public var next: String?

    init(_ video: String, _ entry: QueueEntry) {
        self.video = video
        at = UTCTime(milliseconds: entry.at)
        previous = entry.previous
        next = entry.next
    }
}

extension VideoQueries {
    /// The videos of a queue, the one to be played first in front.
    public func queue(
        _ queue: String = PlayQueue.defaultName, limit: Int = QueryLimits.pageCountDefault,
        cursor: String? = nil
    ) throws -> QueuePage {
        let tag = try PlayQueue.tag(queue)
        let prefix = RowKey().text(tag.name)
        let (rows, next) = try page(
            of: projections.queue, .queue, limit: limit, cursor: cursor,
            within: (prefix, prefix.end))
        let entries = try rows.map { try queueEntry($0, behind: prefix.bytes.count + 8) }
        return QueuePage(videos: entries, count: try queueCount(queue), next: next)
    }

    func queueEntry(_ row: Row, behind prefix: Int) throws -> QueuePageEntry {
        QueuePageEntry(
            String(tag("video", in: row, after: prefix).name), try QueueEntry(decoding: row.value))
    }

    /// Some videos of a queue with what stands before and behind each; those that are not in it are left out.
    ///
    /// - Parameter videos: their keys, or any URL forms of them.
    public func queue(_ queue: String = PlayQueue.defaultName, of videos: [String]) throws
        -> QueuePage
    {
        let tag = try PlayQueue.tag(queue)
        let entries: [QueuePageEntry] = try videos.compactMap { video in
            let key = try VideoKey(video).text
            return try reader.item(of: projections.queue, key: tag, name: QueueEntry.name(key))
                .map { QueuePageEntry(key, try QueueEntry(decoding: $0)) }
        }
        return QueuePage(videos: entries, count: try queueCount(queue), next: nil)
    }

    /// How many videos a queue holds.
    public func queueCount(_ queue: String = PlayQueue.defaultName) throws -> Int {
        let tag = try PlayQueue.tag(queue)
        return Int(clamping: try reader.state(of: projections.queue, key: tag)?.count ?? 0)
    }

    /// Whether a video is in a queue.
    public func isQueued(
        _ video: VideoKey, queue: String = PlayQueue.defaultName
    ) throws -> Bool {
        try reader.item(
            of: projections.queue, key: PlayQueue.tag(queue), name: QueueEntry.name(video.text))
            != nil
    }

    /// What plays behind a video; of one that is not in the queue, and of none, its first.
    public func nextInQueue(
        after video: VideoKey?, queue: String = PlayQueue.defaultName
    ) throws -> String? {
        if let video, let entry = try self.queue(queue, of: [video.text]).videos.first {
            return entry.next
        }
        return try reader.state(of: projections.queue, key: PlayQueue.tag(queue))?.head
    }

    /// What stands before a video in a queue; nil for the first, and for one that is not in it.
    public func previousInQueue(
        before video: VideoKey, queue: String = PlayQueue.defaultName
    ) throws -> String? {
        try self.queue(queue, of: [video.text]).videos.first?.previous
    }
}
