internal import Crypto
internal import Foundation
internal import Synchronization
public import TapedeckLog
internal import TapedeckModel

/// A cache of the pictures shown in lists, stored by URL for use without a network.
///
/// Events contain the URLs; the pictures stay on this device and are not synced. Identical pictures
/// at different URLs are stored once. The total size stays within a budget: the least recently used
/// pictures are removed first.
///
/// ```swift
/// let images = ImageCache(store: directory)
/// if let known = try images.image(at: user.imageUrl) { show(known.path) }
/// else { try images.keep(await download(user.imageUrl), at: user.imageUrl) }
/// ```
///
/// Several processes can share a cache. The cache is the directory `images` in the store's
/// directory. The directory can be deleted at any time, because nothing else refers to it. Keep the
/// store open while you add pictures; otherwise, another process can erase it.
public final class ImageCache: Sendable {
    /// A cached picture.
    public struct Image: Hashable, Sendable {
        /// The URL of the picture.
        public let url: String
        /// The SHA-256 of the bytes, in hexadecimal digits.
        public let blob: String
        /// The path of the file.
        public let path: String
        /// The size in bytes.
        public let bytes: UInt64
        /// The time of the last use, in milliseconds since 1970, accurate to a minute.
        public let usedAt: Int64
    }

    /// The name of the directory inside the store's directory.
    public static let directoryName = "images"
    /// The default budget in bytes: 100 MiB.
    public static let bytesMaxDefault: UInt64 = 100 << 20
    /// The maximum length of a URL in bytes.
    public static let addressBytesMax = 4_096
    /// An eviction frees an additional 1/`slack` of the budget, so that the next pictures fit
    /// without another eviction.
    private static let slack: UInt64 = 16
    /// The minimum time between two recorded uses of a picture, in milliseconds.
    private static let useMilliseconds: Int64 = 60_000
    /// The minimum time, in milliseconds, for which a picture without a URL is kept, because a
    /// process may be about to store the URL.
    private static let graceMilliseconds: Int64 = 600_000

    private let directory: String
    private let blobs: BlobStore
    private let bytesMax: UInt64
    private let now: @Sendable () -> Int64
    /// The approximate total size in bytes; nil if not yet computed.
    private let total = Mutex<UInt64?>(nil)

    /// Opens the pictures of the store in a directory; creates nothing on disk until a picture is
    /// added.
    ///
    /// - Parameters:
    ///   - bytesMax: The budget in bytes.
    ///   - now: Returns the time in milliseconds since 1970.
    public init(
        store: String, bytesMax: UInt64 = ImageCache.bytesMaxDefault,
        now: @escaping @Sendable () -> UInt64 = EventLog.Options.systemMilliseconds
    ) {
        directory = store + "/" + ImageCache.directoryName
        blobs = BlobStore(in: directory, of: store)
        self.bytesMax = bytesMax
        self.now = { Int64(clamping: now()) }
    }

    /// Returns the picture for a URL and records its use; nil if none is cached.
    ///
    /// Reads one small file. Throws `SyncError` with `.usage` if the URL is invalid.
    public func image(at url: String) throws(SyncError) -> Image? {
        try HTTPAddress.checkHoldsNoLogin(url)
        let name = try place(of: url)
        guard let image = read(name) else { return nil }
        if image.usedAt < now() - ImageCache.useMilliseconds { touch(name) }
        return image
    }

    /// Returns the bytes of the picture for a URL; nil if none is cached.
    ///
    /// The bytes are verified against the blob's name. If they have changed on disk, the picture is
    /// removed and the result is nil.
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

    /// Stores a picture, replacing the previous picture for the URL, and evicts other pictures if
    /// the budget is exceeded.
    ///
    /// Returns once the picture is on disk. Throws `SyncError`: `.tooLarge` if the picture alone
    /// exceeds the budget; `.usage` if the picture is empty, or if the URL is invalid or contains a
    /// user name or password; `.noStore`, `.diskFull`, `.accessDenied`, `.readOnly`, `.inputOutput`.
    @discardableResult
    public func keep(_ bytes: [UInt8], at url: String) throws(SyncError) -> Image {
        try HTTPAddress.checkHoldsNoLogin(url)
        guard ["http://", "https://"].contains(where: url.lowercased().hasPrefix) else {
            throw SyncError(
                .usage, "\"\(url.prefix(80))\" is not an http or https URL",
                hint: "use an address such as https://example.org/picture.jpg")
        }
        let name = try place(of: url)
        guard !bytes.isEmpty else { throw SyncError(.usage, "the picture is empty") }
        guard UInt64(bytes.count) <= bytesMax else {
            throw SyncError(
                .tooLarge,
                "the picture is \(bytes.count) bytes long; the budget is \(bytesMax)",
                hint: "use a smaller picture or raise the budget")
        }
        try blobs.inStore { () throws(SyncError) in
            try blobs.makeDirectory(directory)
            let blob = try blobs.add(bytes)
            try write("\(blob)\n\(url)\n", to: name)
        }
        guard let image = read(name) else {
            throw SyncError(.inputOutput, "\(name) was written but cannot be read")
        }
        let isOver = total.withLock { total in
            // A replaced picture is counted twice until the next recount.
            total = total.map { $0 + UInt64(bytes.count) } ?? listed().bytes
            return total ?? 0 > bytesMax
        }
        if isOver { evict(to: bytesMax - bytesMax / ImageCache.slack, but: url) }
        return image
    }

    /// Returns the cached pictures, least recently used first.
    ///
    /// Reads one small file per picture.
    public func images() -> [Image] { listed().images }

    /// Evicts pictures until at most `bytesMax` bytes remain, and returns the URLs of the evicted
    /// pictures.
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

    /// Removes files left by processes that ended between storing a picture and its URL.
    private func sweep(known: [String: Int]) {
        let lost = blobs.names().filter { known[$0] == nil }.compactMap { blobs.path(of: $0) }
        for path in lost {
            guard let at = ImageCache.facts(path)?.at, at < now() - ImageCache.graceMilliseconds
            else { continue }
            unlink(path)
        }
    }

    // MARK: - Files

    /// Returns the path of the file for a URL.
    private func place(of url: String) throws(SyncError) -> String {
        guard !url.isEmpty, url.utf8.count <= ImageCache.addressBytesMax,
            !url.utf8.contains(where: { $0 < 0x20 })
        else {
            throw SyncError(
                .usage,
                "the URL of a picture must be 1 to \(ImageCache.addressBytesMax) bytes long and must not contain control characters"
            )
        }
        let name = BlobStore.name(of: SHA256.hash(data: Array(url.utf8)))
        return "\(directory)/names/\(name.prefix(2))/\(name)"
    }

    /// Returns the picture to which a URL's file refers; nil if the file or the picture is missing.
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

    /// Returns all pictures, least recently used first, and their total size, counting identical
    /// pictures once.
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
        try blobs.makeDirectory("\(directory)/names")
        try blobs.makeDirectory(folder)
        try SyncError.wrapping { () throws(LogError) in
            let draft = try ReplacedFile(replacing: "\(directory)/\(BlobStore.draftName)")
            try draft.write(Array(text.utf8))
            touch(draft.path)
            try draft.place(at: name)
        }
    }

    /// Records the use of a picture.
    private func touch(_ name: String) {
        let time = now()
        let stamp = timespec(
            tv_sec: Int(time / 1_000), tv_nsec: Int(time % 1_000) * 1_000_000)
        // If the use cannot be recorded, the picture is evicted earlier than necessary.
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
