internal import Crypto
internal import Foundation
internal import TapedeckModel

/// The large files of a store, each named by the SHA-256 of its bytes: videos and pictures that events
/// speak of and do not hold.
///
/// A blob is at `blobs/ab/<64 hexadecimal digits>` in the store's directory, where `ab` are its first two
/// digits. It is there whole or not at all: it is written beside, brought to disk, and renamed. Equal files
/// are kept once. Blobs are this device's own and are not synced; an event that names one is.
///
/// ```swift
/// let blobs = BlobStore(store: store.log.directory.path)
/// recorded.blob = try blobs.add(contentsOf: "/tmp/answer.mov")
/// ```
public struct BlobStore: Sendable {
    /// The directory in a store's own.
    public static let directoryName = "blobs"
    /// What the names of files begin with that are being written.
    static let draftPrefix = "new-"
    /// How many bytes are copied at a time.
    private static let chunkBytes = 1 << 20

    private let directory: String

    /// The blobs of the store in a directory; nothing is made on disk before one is added.
    public init(store: String) { directory = store + "/" + BlobStore.directoryName }

    /// Where a blob's bytes are; nil where this device has no such blob, or what is asked for is no name of
    /// one.
    public func path(of blob: String) -> String? {
        guard BlobStore.isName(blob) else { return nil }
        let path = place(of: blob)
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }

    /// Keeps a copy of a file, and returns its name when it is on disk.
    ///
    /// The file is read once, in pieces. Throws `SyncError`: `.notFound`, `.accessDenied`, `.diskFull`,
    /// `.inputOutput`.
    public func add(contentsOf file: String) throws(SyncError) -> String {
        let source = open(file, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw BlobStore.failure("\(file) cannot be read") }
        defer { _ = close(source) }
        return try keep { target, draft throws(SyncError) in try copy(source, file, target, draft) }
    }

    /// Keeps bytes, and returns their name when they are on disk.
    ///
    /// Throws as `add(contentsOf:)` does.
    public func add(_ bytes: [UInt8]) throws(SyncError) -> String {
        try keep { target, draft throws(SyncError) in
            try write(bytes[...], to: target, draft)
            return BlobStore.name(of: SHA256.hash(data: bytes))
        }
    }

    /// Removes a blob; a missing one is no error.
    func remove(_ blob: String) {
        guard BlobStore.isName(blob) else { return }
        unlink(place(of: blob))
    }

    /// The names of all blobs.
    func names() -> [String] {
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return folders.flatMap { folder in
            let names = try? FileManager.default.contentsOfDirectory(
                atPath: "\(directory)/\(folder)")
            return (names ?? []).filter(BlobStore.isName)
        }
    }

    // MARK: - Steps

    /// The name of bytes by their digest.
    static func name(of digest: SHA256Digest) -> String {
        digest.map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }

    private static func isName(_ blob: String) -> Bool {
        blob.utf8.count == 2 * SHA256.byteCount
            && blob.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private func place(of blob: String) -> String { "\(directory)/\(blob.prefix(2))/\(blob)" }

    /// Keeps what `fill` writes into a draft under the name that it returns.
    private func keep(
        _ fill: (_ target: Int32, _ draft: String) throws(SyncError) -> String
    ) throws(SyncError) -> String {
        try makeDirectory(directory)
        let draft = "\(directory)/\(BlobStore.draftPrefix)\(UUID().uuidString)"
        let target = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard target >= 0 else { throw BlobStore.failure("\(draft) cannot be written") }
        defer { _ = close(target) }
        do throws(SyncError) {
            let blob = try fill(target, draft)
            guard fsync(target) == 0 else { throw BlobStore.failure("\(draft) cannot be written") }
            try move(draft, to: blob)
            return blob
        } catch {
            unlink(draft)
            throw error
        }
    }

    private func copy(
        _ source: Int32, _ file: String, _ target: Int32, _ draft: String
    ) throws(SyncError) -> String {
        var hash = SHA256()
        var chunk = [UInt8](repeating: 0, count: BlobStore.chunkBytes)
        while true {
            let count = chunk.withUnsafeMutableBytes { read(source, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw BlobStore.failure("\(file) cannot be read") }
            guard count > 0 else { break }
            chunk.withUnsafeBytes { hash.update(bufferPointer: .init(rebasing: $0[..<count])) }
            try write(chunk[..<count], to: target, draft)
        }
        return BlobStore.name(of: hash.finalize())
    }

    private func write(
        _ bytes: ArraySlice<UInt8>, to target: Int32, _ draft: String
    ) throws(SyncError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(target, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw BlobStore.failure("\(draft) cannot be written") }
            rest = rest.dropFirst(count)
        }
    }

    private func move(_ draft: String, to blob: String) throws(SyncError) {
        let place = place(of: blob)
        let folder = "\(directory)/\(blob.prefix(2))"
        try makeDirectory(folder)
        // One of the same bytes may be there already; to replace it by them changes nothing.
        guard rename(draft, place) == 0 else { throw BlobStore.failure("\(place) cannot be made") }
        // A name is on disk only when its directory is.
        for path in [folder, directory] {
            let handle = open(path, O_RDONLY | O_CLOEXEC)
            guard handle >= 0 else { throw BlobStore.failure("\(path) cannot be opened") }
            let isSynced = fsync(handle) == 0
            _ = close(handle)
            guard isSynced else { throw BlobStore.failure("\(path) cannot be brought to disk") }
        }
    }

    func makeDirectory(_ path: String) throws(SyncError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw BlobStore.failure("\(path) cannot be made")
        }
    }

    static func failure(_ what: String) -> SyncError {
        let code: ErrorCode =
            switch errno {
            case ENOENT, ENOTDIR: .notFound
            case EACCES, EPERM: .accessDenied
            case ENOSPC, EDQUOT: .diskFull
            default: .inputOutput
            }
        return SyncError(code, "\(what): \(String(cString: strerror(errno)))")
    }
}
