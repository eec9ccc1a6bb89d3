internal import Crypto
internal import Foundation
internal import Synchronization
public import TapedeckLog
internal import TapedeckModel

/// The pictures that lists show, kept by their addresses for when there is no network.
///
/// Events hold the addresses; what stands there is this device's own, is in no event and is not synced. Equal
/// pictures at different addresses are kept once. Together they keep within a budget: what was asked for last
/// stays, and what was asked for longest ago goes first.
///
/// ```swift
/// let images = ImageCache(store: store.log.directory.path)
/// if let known = try images.image(at: user.imageUrl) { show(known.path) }
/// else { try images.keep(await download(user.imageUrl), at: user.imageUrl) }
/// ```
///
/// Several processes may use one cache. It is in `images` in the store's directory, and may be removed there at
/// any time: nothing else refers to it.
public final class ImageCache: Sendable {
    /// A picture that is kept.
    public struct Image: Hashable, Sendable {
        /// The address.
        public let url: String
        /// The SHA-256 of its bytes, in hexadecimal digits.
        public let blob: String
        /// The file with its bytes.
        public let path: String
        /// How many bytes it has.
        public let bytes: UInt64
        /// When it was asked for last, in Unix milliseconds; right to a minute.
        public let usedAt: Int64
    }

    /// The directory in a store's own.
    public static let directoryName = "images"
    /// How many bytes are kept where nothing is said: 100 MiB.
    public static let bytesMaxDefault: UInt64 = 100 << 20
    /// The longest address in bytes.
    public static let addressBytesMax = 4_096
    /// What is over the budget is brought below it by this part, so that not each picture evicts one.
    private static let slack: UInt64 = 16
    /// A use that is no more than so long ago is not noted again.
    private static let useMilliseconds: Int64 = 60_000
    /// What has no address is left alone for so long: it may be about to get one.
    private static let graceMilliseconds: Int64 = 600_000

    private let directory: String
    private let blobs: BlobStore
    private let bytesMax: UInt64
    private let now: @Sendable () -> Int64
    /// About how many bytes there are; nil before they were counted.
    private let total = Mutex<UInt64?>(nil)

    /// The pictures of the store in a directory; nothing is made on disk before one is kept.
    ///
    /// - Parameters:
    ///   - bytesMax: how many bytes they may have together.
    ///   - now: Unix milliseconds.
    public init(
        store: String, bytesMax: UInt64 = ImageCache.bytesMaxDefault,
        now: @escaping @Sendable () -> UInt64 = EventLog.Options.systemMilliseconds
    ) {
        directory = store + "/" + ImageCache.directoryName
        blobs = BlobStore(store: directory)
        self.bytesMax = bytesMax
        self.now = { Int64(clamping: now()) }
    }

    /// The picture at an address, which is now the one that was asked for last; nil where none is kept.
    ///
    /// Costs reading a small file. Throws `SyncError` with `.usage` for what can be no address.
    public func image(at url: String) throws(SyncError) -> Image? {
        try HTTPAddress.checkHoldsNoLogin(url)
        let name = try place(of: url)
        guard let image = read(name) else { return nil }
        if image.usedAt < now() - ImageCache.useMilliseconds { touch(name) }
        return image
    }

    /// The bytes of the picture at an address; nil where none is kept.
    ///
    /// They are compared with their name: what has changed on disk is let go of, and nil.
    public func bytes(at url: String) throws(SyncError) -> [UInt8]? {
        guard let image = try image(at: url) else { return nil }
        guard let data = FileManager.default.contents(atPath: image.path),
            BlobStore.name(of: SHA256.hash(data: data)) == image.blob
        else {
            blobs.remove(image.blob)
            unlink(try place(of: url))
            return nil
        }
        return Array(data)
    }

    /// Keeps a picture in the place of what was kept of its address, and lets others go if there are too many.
    ///
    /// It returns when the picture is on disk. Throws `SyncError`: `.tooLarge` (larger than the budget by
    /// itself), `.usage` (no picture, no address, or one that holds a user name or a
    /// password), `.diskFull`, `.accessDenied`, `.inputOutput`.
    @discardableResult
    public func keep(_ bytes: [UInt8], at url: String) throws(SyncError) -> Image {
        try HTTPAddress.checkHoldsNoLogin(url)
        let name = try place(of: url)
        guard !bytes.isEmpty else { throw SyncError(.usage, "a picture has no bytes") }
        guard UInt64(bytes.count) <= bytesMax else {
            throw SyncError(
                .tooLarge,
                "a picture of \(bytes.count) bytes is larger than the budget, \(bytesMax)",
                hint: "keep a smaller size of it, or raise the budget")
        }
        try blobs.makeDirectory(directory)
        let blob = try blobs.add(bytes)
        try write("\(blob)\n\(url)\n", to: name)
        guard let image = read(name) else {
            throw SyncError(.inputOutput, "\(name) cannot be read, and was written")
        }
        let isOver = total.withLock { total in
            // What takes the place of another counts twice until all are counted again.
            total = total.map { $0 + UInt64(bytes.count) } ?? listed().bytes
            return total ?? 0 > bytesMax
        }
        if isOver { evict(to: bytesMax - bytesMax / ImageCache.slack, but: url) }
        return image
    }

    /// The pictures that are kept, the one asked for longest ago first.
    ///
    /// Costs reading a small file of each.
    public func images() -> [Image] { listed().images }

    /// Lets pictures go until the others have no more than so many bytes together; returns their addresses.
    @discardableResult
    public func evict(to bytesMax: UInt64) -> [String] { evict(to: bytesMax, but: nil) }

    @discardableResult
    private func evict(to bytesMax: UInt64, but held: String?) -> [String] {
        var (images, bytes) = listed()
        var users: [String: Int] = [:]
        for image in images { users[image.blob, default: 0] += 1 }
        var gone: [String] = []
        images.removeAll { $0.url == held }
        for image in images where bytes > bytesMax {
            guard let name = try? place(of: image.url) else { continue }
            unlink(name)
            gone.append(image.url)
            users[image.blob, default: 1] -= 1
            guard users[image.blob] == 0 else { continue }
            blobs.remove(image.blob)
            bytes -= min(bytes, image.bytes)
        }
        sweep(known: users)
        total.withLock { $0 = bytes }
        return gone
    }

    /// Removes what a process left that ended between a picture and its address.
    private func sweep(known: [String: Int]) {
        let files = FileManager.default
        let lost = blobs.names().filter { known[$0] == nil }.compactMap { blobs.path(of: $0) }
        let drafts = [directory, "\(directory)/\(BlobStore.directoryName)"].flatMap { folder in
            ((try? files.contentsOfDirectory(atPath: folder)) ?? [])
                .filter { $0.hasPrefix(BlobStore.draftPrefix) }.map { "\(folder)/\($0)" }
        }
        for path in lost + drafts {
            guard let at = ImageCache.facts(path)?.at, at < now() - ImageCache.graceMilliseconds
            else { continue }
            unlink(path)
        }
    }

    // MARK: - Files

    /// The file of an address.
    private func place(of url: String) throws(SyncError) -> String {
        guard !url.isEmpty, url.utf8.count <= ImageCache.addressBytesMax,
            !url.utf8.contains(where: { $0 < 0x20 })
        else {
            throw SyncError(
                .usage,
                "a picture's address has 1 to \(ImageCache.addressBytesMax) bytes and no control characters"
            )
        }
        let name = BlobStore.name(of: SHA256.hash(data: Array(url.utf8)))
        return "\(directory)/names/\(name.prefix(2))/\(name)"
    }

    /// The picture of an address's file; nil where there is none, or its picture has gone.
    private func read(_ name: String) -> Image? {
        guard let data = FileManager.default.contents(atPath: name),
            let used = ImageCache.facts(name)?.at
        else { return nil }
        let lines = String(decoding: data, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 3, let path = blobs.path(of: String(lines[0])),
            let bytes = ImageCache.facts(path)?.bytes
        else { return nil }
        return Image(
            url: String(lines[1]), blob: String(lines[0]), path: path, bytes: bytes, usedAt: used)
    }

    /// All pictures, the one asked for longest ago first, and how many bytes they have, equal ones once.
    private func listed() -> (images: [Image], bytes: UInt64) {
        let names = directory + "/names"
        let files = FileManager.default
        var images: [Image] = []
        for folder in (try? files.contentsOfDirectory(atPath: names)) ?? [] {
            for name in (try? files.contentsOfDirectory(atPath: "\(names)/\(folder)")) ?? [] {
                if let image = read("\(names)/\(folder)/\(name)") { images.append(image) }
            }
        }
        images.sort { ($0.usedAt, $0.url) < ($1.usedAt, $1.url) }
        var known: Set<String> = []
        let bytes = images.reduce(0) { known.insert($1.blob).inserted ? $0 + $1.bytes : $0 }
        return (images, bytes)
    }

    private func write(_ text: String, to name: String) throws(SyncError) {
        let folder = String(name[..<(name.lastIndex(of: "/") ?? name.endIndex)])
        let draft = "\(directory)/\(BlobStore.draftPrefix)\(UUID().uuidString)"
        try blobs.makeDirectory("\(directory)/names")
        try blobs.makeDirectory(folder)
        do {
            try Data(text.utf8).write(to: URL(fileURLWithPath: draft))
        } catch {
            unlink(draft)
            throw BlobStore.failure("\(name) cannot be written")
        }
        touch(draft)
        guard rename(draft, name) == 0 else {
            defer { unlink(draft) }
            throw BlobStore.failure("\(name) cannot be made")
        }
    }

    /// Notes that a picture is asked for now.
    private func touch(_ name: String) {
        let time = now()
        let stamp = timespec(
            tv_sec: Int(time / 1_000), tv_nsec: Int(time % 1_000) * 1_000_000)
        // Where it fails, the picture goes earlier than it would have to.
        _ = utimensat(AT_FDCWD, name, [stamp, stamp], 0)
    }

    private static func facts(_ path: String) -> (at: Int64, bytes: UInt64)? {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        #if canImport(Darwin)
            let time = facts.st_mtimespec
        #else
            let time = facts.st_mtim
        #endif
        return (
            Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000, UInt64(facts.st_size)
        )
    }
}
