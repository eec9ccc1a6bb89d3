public import TapedeckModel
public import TapedeckProjections

/// Which videos lie on which device's disk, in which blobs.
///
/// The newest word on a video counts, for each device by itself, so any order of arrival gives the same
/// items. Items: `d` video → `Download`, one that is gone included. Table 0 holds what lies on disks, by
/// device, the oldest first; it is made of the items, so that an event costs what it changes.
public struct Downloads: Projection {
    /// Makes the projection.
    public init() {}

    /// The device of an account that has no more than one.
    public static let defaultDevice = "default"

    /// `downloads`.
    public var name: String { "downloads" }
    /// 1.
    public var version: Int { 1 }
    /// `device`.
    public var tagKind: String { "device" }
    /// What was put on disks and taken off them.
    public var eventTypes: [EventType] { [DownloadCompleted.eventType, DownloadRemoved.eventType] }
    /// Any.
    public var law: FoldLaw { .any }
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        Of each video the newest word of the device counts: that it lies on its disk, or \
        that it is gone.
        """
    }
    /// One: what lies on disks.
    public var tables: [String] { ["oldest-first"] }
    /// Yes.
    public var itemsYieldRows: Bool { true }

    /// The tag of a device; an empty name stands for the default.
    public static func tag(_ device: String) throws(ModelError) -> Tag {
        try Tag("device", device.isEmpty ? defaultDevice : device)
    }

    /// What a device's disk holds.
    public struct State: ProjectionState, Equatable {
        /// How many videos.
        var count: UInt64 = 0
        /// How many bytes they have together.
        var bytes: UInt64 = 0

        /// Nothing.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws {
            count = try bytes.uint64()
            self.bytes = try bytes.uint64()
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(count)
            bytes.add(self.bytes)
        }
    }

    static let prefix: [UInt8] = [UInt8(ascii: "d")]

    static func name(of video: String) -> RowKey { RowKey(prefix + Array(video.utf8)) }

    /// The last word on a video.
    struct Download: Equatable {
        var order: FoldOrder
        /// Unix milliseconds.
        var at: Int64
        /// The SHA-256 of the file; nil where it is gone.
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

    /// Folds a download, or its removal.
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

    /// A row for what lies on a disk.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        let download = try Download(decoding: item.value)
        guard download.blob != nil else { return }
        let video = Array(item.key.dropFirst(Downloads.prefix.count)).utf8Text
        rows.add(
            table: 0, key: RowKey().text(key.name).ascending(download.at).text(video),
            value: item.value)
    }
}
