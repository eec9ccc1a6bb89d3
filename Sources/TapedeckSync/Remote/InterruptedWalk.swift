internal import TapedeckLog
internal import TapedeckModel

/// A walk over pages of a feed that no device has read, which has not ended yet.
///
/// It is stored with each page, so that a sync that is interrupted again and again still reaches
/// the end of a long feed. The next sync first reads the rest of the pages, then the feed from its
/// beginning. A walk that was interrupted never shows that an entry was removed.
struct InterruptedWalk: Hashable {
    /// The first page of the feed.
    var feed: RemotePage
    /// The place of the next page.
    var place: String
    /// The time up to which the walk covers the feed, and the time of the oldest row that it has
    /// read; nil if the feed has no such times.
    var span: FeedSpan?
    /// The list on the first page, with its newest entry only; nil if there is none.
    var firstPart: ListPart?

    /// Returns whether a mark of the feed covers everything that the walk would cover.
    func isCovered(by mark: String?) -> Bool {
        guard let span, let covered = mark.flatMap({ Int64($0) }) else { return false }
        return span.settled <= covered
    }
}

extension RemoteRow {
    /// Returns the row that stores an interrupted walk.
    static func walk(_ remote: String, _ walk: InterruptedWalk) -> SyncRow {
        var bytes: [UInt8] = []
        for text in [walk.feed.feed, walk.feed.place, walk.place] { bytes.appendPrefixed(text) }
        bytes.append(walk.span == nil ? 0 : 1)
        bytes.appendLittleEndian(walk.span?.settled ?? 0)
        bytes.appendLittleEndian(walk.span?.oldest ?? 0)
        if let part = walk.firstPart {
            bytes.appendPrefixed(part.name)
            bytes.appendPrefixed(part.entries.first ?? "")
            bytes.appendLittleEndian(part.total.map { Int64($0) } ?? -1)
        }
        return SyncRow(endedWalk(remote, walk.feed).name, bytes)
    }

    /// Returns a row without a value; writing the row deletes an interrupted walk.
    static func endedWalk(_ remote: String, _ feed: RemotePage) -> SyncRow {
        SyncRow("\(key(remote))/walk/\(Digest16(hashing: place(of: feed)).text)", nil)
    }

    /// Returns the interrupted walks of a remote.
    @available(*, noasync)
    static func walks(_ remote: String, in log: EventLog) throws(LogError) -> [InterruptedWalk] {
        try log.syncRows(prefix: "\(key(remote))/walk/").compactMap { row in
            row.value?.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                guard let feed = reader.prefixedString(), let first = reader.prefixedString(),
                    let place = reader.prefixedString(),
                    let hasSpan = reader.littleEndian(UInt8.self),
                    let settled = reader.littleEndian(Int64.self),
                    let oldest = reader.littleEndian(Int64.self)
                else { return nil }
                var walk = InterruptedWalk(
                    feed: RemotePage(feed, first), place: place,
                    span: hasSpan == 1 ? FeedSpan(settled: settled, oldest: oldest) : nil)
                if let list = reader.prefixedString(), let newest = reader.prefixedString(),
                    let total = reader.littleEndian(Int64.self)
                {
                    walk.firstPart = ListPart(
                        list, newest.isEmpty ? [] : [newest],
                        .page(total: total < 0 ? nil : Int(total)))
                }
                return walk
            }
        }
    }
}
