public import TapedeckModel
public import TapedeckProjections

/// The videos that each device has downloaded, and the blobs that contain them.
///
/// Only each device's newest report about a video is used, so the order of arrival does not matter.
/// Items: `d` video → `Download`, which is kept even after the file has been removed. Table 0
/// contains the downloaded files by device, oldest first. The rows of table 0 come from the items,
/// so an event changes only the rows of its video.
public struct Downloads: Projection {
    /// Creates the projection.
    public init() {}

    /// The name that replaces an empty device name.
    public static let defaultDevice = "default"

    /// `downloads`.
    public var name: String { "downloads" }
    /// 1.
    public var version: Int { 1 }
    /// `device`.
    public var tagKind: String { "device" }
    /// Completed and removed downloads.
    public var eventTypes: [EventType] { [DownloadCompleted.eventType, DownloadRemoved.eventType] }
    /// Events can be folded in any order, because only each device's newest report about a video is
    /// used.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        The device's newest report about a video determines whether the video is on the \
        device's disk.
        """
    }
    /// One table: the downloaded files.
    public var tables: [String] { ["oldest-first"] }
    /// True, because the rows of table 0 come from the items.
    public var itemsYieldRows: Bool { true }

    /// Returns the tag of a device; an empty name means the default device.
    public static func tag(_ device: String) throws(ModelError) -> Tag {
        try Tag("device", device.isEmpty ? defaultDevice : device)
    }

    /// The number and the total size of a device's downloads.
    public struct State: ProjectionState, Equatable {
        /// The number of videos.
        var count: UInt64 = 0
        /// The total size of the files, in bytes.
        var bytes: UInt64 = 0

        /// Creates the state of a device without downloads.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws {
            count = try bytes.uint64()
            self.bytes = try bytes.uint64()
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(count)
            bytes.add(self.bytes)
        }
    }

    static let prefix: [UInt8] = [UInt8(ascii: "d")]

    static func name(of video: String) -> RowKey { RowKey(prefix + Array(video.utf8)) }

    /// A device's newest report about a video.
    struct Download: Equatable {
        var order: FoldOrder
        /// The time in Unix milliseconds.
        var at: Int64
        /// The SHA-256 of the file; nil if the file was removed.
        var blob: String?
        var bytes: UInt64

        init(_ event: borrowing FoldEvent, blob: String?, bytes: UInt64) {
            order = event.order
            at = Int64(event.stamp.milliseconds)
            self.blob = blob
            self.bytes = bytes
        }

        init(decoding value: [UInt8]) throws(ModelError) {
            (order, at, blob, self.bytes) = try StateReader.read(value) {
                (reader) throws(ModelError) in
                (
                    try reader.foldOrder(), try reader.int64(), try reader.optionalString(),
                    try reader.uint64()
                )
            }
        }

        var encoded: [UInt8] {
            var writer = StateWriter()
            writer.add(order)
            writer.add(at)
            writer.add(blob)
            writer.add(bytes)
            return writer.bytes
        }
    }

    /// Folds a completed download or a removal.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let video: String
        let download: Download
        if event.typeIndex == 0 {
            let said = try event.decode(DownloadCompleted.self).normalized()
            video = said.video
            download = Download(event, blob: said.blob, bytes: said.bytes)
        } else {
            video = try event.decode(DownloadRemoved.self).normalized().video
            download = Download(event, blob: nil, bytes: 0)
        }
        let name = Downloads.name(of: video)
        if let before = try key.item(name).map({ try Download(decoding: $0) }) {
            guard before.order < download.order else { return }
            if before.blob != nil {
                key.state.count -= 1
                key.state.bytes &-= before.bytes
            }
        }
        key.setItem(name, download.encoded)
        guard download.blob != nil else { return }
        key.state.count += 1
        key.state.bytes &+= download.bytes
    }

    /// Adds a row for a downloaded file.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        let download = try Download(decoding: item.value)
        guard download.blob != nil else { return }
        let video = Array(item.key.dropFirst(Downloads.prefix.count)).utf8Text
        rows.add(
            table: 0, key: RowKey().text(key.name).ascending(download.at).text(video),
            value: item.value)
    }
}
