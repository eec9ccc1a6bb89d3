internal import TapedeckModel
internal import TapedeckProjections

/// A page of the downloads on a device's disk.
public struct DownloadsPage: Codable, Hashable, Sendable {
    /// The device's name.
    public var device: String
    /// The videos, earliest download first.
    public var videos: [DownloadEntry]
    /// The number of videos on the disk.
    public var count: Int
    /// The total size of the downloads in bytes.
    public var bytes: UInt64
    /// The videos to delete, in this order, so that the downloads fit the requested budget.
    public var evictions: [String]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A video on a device's disk.
public struct DownloadEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var video: String
    /// The SHA-256 of the file.
    public var blob: String
    /// The size of the file in bytes.
    public var bytes: UInt64
    /// The time at which the download was completed.
    public var at: UTCTime
    /// Whether the video was watched to the end, on any device.
    public var watched: Bool
}

extension VideoQueries {
    /// Returns whether a video is on a device's disk.
    public func isOnDisk(
        _ video: VideoKey, device: String = Downloads.defaultDevice
    ) throws -> Bool {
        try download(video, Downloads.tag(device))?.blob != nil
    }

    /// Returns the downloads on a device's disk, earliest first.
    public func downloads(
        device: String = Downloads.defaultDevice, limit: Int = QueryLimits.pageCountDefault,
        cursor: String? = nil
    ) throws -> DownloadsPage {
        let tag = try Downloads.tag(device)
        let (rows, next) = try page(
            of: projections.downloads, .downloads, limit: limit, cursor: cursor,
            within: bounds(tag))
        return try page(tag, try rows.map { try downloadEntry($0, tag) }, next: next)
    }

    /// Returns the downloads of the given videos on a device's disk, in the same order.
    ///
    /// - Parameter videos: The videos' keys, or any of their URLs.
    public func downloads(
        of videos: [String], device: String = Downloads.defaultDevice
    ) throws -> DownloadsPage {
        let tag = try Downloads.tag(device)
        let entries: [DownloadEntry] = try videos.compactMap { video in
            let key = try VideoKey(video)
            guard let found = try download(key, tag), let blob = found.blob else { return nil }
            return try entry(key.text, found, blob)
        }
        return try page(tag, entries, next: nil)
    }

    /// Returns the videos to delete so that a device's downloads plus `newBytes` fit a budget.
    ///
    /// If the downloads already fit, this method reads only their total size. Otherwise, the method
    /// reads all of the device's downloads and whether each was watched.
    public func evictions(
        _ budget: DownloadBudget, device: String = Downloads.defaultDevice,
        current: VideoKey? = nil, newBytes: UInt64 = 0
    ) throws -> [VideoKey] {
        let tag = try Downloads.tag(device)
        let held = try reader.state(of: projections.downloads, key: tag)?.bytes ?? 0
        let (total, isOver) = held.addingReportingOverflow(newBytes)
        guard isOver || total > budget.bytesMax else { return [] }
        let (lower, upper) = bounds(tag)
        var candidates: [DownloadBudget.Candidate] = []
        var after: [UInt8]?
        while true {
            let rows = try reader.rows(
                of: projections.downloads, table: 0, lower: lower, upper: upper, after: after,
                limit: 1_000)
            for row in rows {
                let entry = try downloadEntry(row, tag)
                candidates.append(
                    .init(
                        try VideoKey(entry.video), bytes: entry.bytes, at: entry.at,
                        isWatched: entry.watched))
            }
            guard rows.count == 1_000, let last = rows.last else { break }
            after = last.key
        }
        return budget.evictions(candidates, current: current, newBytes: newBytes)
    }

    private func bounds(_ device: Tag) -> (lower: RowKey, upper: RowKey) {
        let prefix = RowKey().text(device.name)
        return (prefix, prefix.end)
    }

    private func download(_ video: VideoKey, _ device: Tag) throws -> Downloads.Download? {
        try reader.item(
            of: projections.downloads, key: device, name: Downloads.name(of: video.text)
        ).map { try Downloads.Download(decoding: $0) }
    }

    /// Returns the entry for a row of a device's downloads.
    func downloadEntry(_ row: Row, _ device: Tag) throws -> DownloadEntry {
        let front = RowKey().text(device.name).bytes.count + 8
        let found = try Downloads.Download(decoding: row.value)
        return try entry(
            String(tag("video", in: row, after: front).name), found, found.blob ?? "")
    }

    private func entry(
        _ video: String, _ found: Downloads.Download, _ blob: String
    ) throws -> DownloadEntry {
        let played = try reader.state(
            of: projections.playback, key: Tag(unchecked: "video/\(video)"))
        return DownloadEntry(
            video: video, blob: blob, bytes: found.bytes, at: UTCTime(milliseconds: found.at),
            watched: played?.last?.isFinish ?? false)
    }

    private func page(
        _ device: Tag, _ entries: [DownloadEntry], next: String?
    ) throws -> DownloadsPage {
        let held = try reader.state(of: projections.downloads, key: device)
        return DownloadsPage(
            device: String(device.name), videos: entries, count: Int(clamping: held?.count ?? 0),
            bytes: held?.bytes ?? 0, evictions: [], next: next)
    }
}
