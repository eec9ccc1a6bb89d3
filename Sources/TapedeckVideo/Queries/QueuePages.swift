internal import TapedeckModel
internal import TapedeckProjections

/// A page of a queue.
public struct QueuePage: Codable, Hashable, Sendable {
    /// The videos, in playing order.
    public var videos: [QueuePageEntry]
    /// The total number of videos in the queue.
    public var count: Int
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A video in a queue.
public struct QueuePageEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var video: String
    /// The time at which the video was added to the queue or last moved.
    public var at: UTCTime
    /// The previous video; nil for the first video.
    @NullWhenNil public var previous: String?
    /// The next video; nil for the last video.
    @NullWhenNil public var next: String?

    init(_ video: String, _ entry: QueueEntry) {
        self.video = video
        at = UTCTime(milliseconds: entry.at)
        previous = entry.previous
        next = entry.next
    }
}

extension VideoQueries {
    /// Returns the videos of a queue, in playing order.
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

    /// Returns the given videos in a queue, each with its neighbours; videos that are not in the
    /// queue are left out.
    ///
    /// - Parameter videos: The videos' keys, or any of their URLs.
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

    /// Returns the number of videos in a queue.
    public func queueCount(_ queue: String = PlayQueue.defaultName) throws -> Int {
        let tag = try PlayQueue.tag(queue)
        return Int(clamping: try reader.state(of: projections.queue, key: tag)?.count ?? 0)
    }

    /// Returns whether a video is in a queue.
    public func isQueued(
        _ video: VideoKey, queue: String = PlayQueue.defaultName
    ) throws -> Bool {
        try reader.item(
            of: projections.queue, key: PlayQueue.tag(queue), name: QueueEntry.name(video.text))
            != nil
    }

    /// Returns the next video in a queue, or the first video if `video` is nil or not in the queue.
    public func nextInQueue(
        after video: VideoKey?, queue: String = PlayQueue.defaultName
    ) throws -> String? {
        if let video, let entry = try self.queue(queue, of: [video.text]).videos.first {
            return entry.next
        }
        return try reader.state(of: projections.queue, key: PlayQueue.tag(queue))?.head
    }

    /// Returns the previous video in a queue, or nil if `video` is the first video or not in the
    /// queue.
    public func previousInQueue(
        before video: VideoKey, queue: String = PlayQueue.defaultName
    ) throws -> String? {
        try self.queue(queue, of: [video.text]).videos.first?.previous
    }
}
