internal import Crypto
internal import Foundation
internal import TapedeckLog
internal import TapedeckModel

/// The large files of a store, such as videos and pictures that events refer to, each named by the
/// SHA-256 of its bytes.
///
/// A blob is stored at `blobs/ab/<64 hexadecimal digits>` in the store's directory, where `ab` is
/// the first two digits. A blob is always complete: it is written to a draft file, synced to disk
/// and renamed. Identical files are stored once. Blobs stay on this device; only the events that
/// name them are synced.
///
/// Keep the store open while you add blobs; otherwise, another process can erase it.
///
/// ```swift
/// let blobs = BlobStore(store: directory)
/// let name = try blobs.add(contentsOf: "/tmp/answer.mov")
/// ```
public struct BlobStore: Sendable {
    /// The name of the directory inside the store's directory.
    public static let directoryName = "blobs"
    /// The base name of drafts; a blob's own name, a hash of its bytes, is known only after the
    /// last byte.
    static let draftName = "new"
    /// The number of bytes to copy at a time.
    private static let chunkBytes = 1 << 20

    private let store: StoreDirectory
    private let directory: String

    /// Opens the blobs of the store in a directory; creates nothing on disk until a blob is added.
    public init(store: String) { self.init(in: store, of: store) }

    /// Opens the blobs in a folder of a store.
    init(in folder: String, of store: String) {
        self.store = StoreDirectory(store)
        directory = folder + "/" + BlobStore.directoryName
    }

    /// Returns the path of a blob; nil if this device does not have it or the name is invalid.
    public func path(of blob: String) -> String? {
        guard BlobStore.isName(blob) else { return nil }
        let path = place(of: blob)
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }

    /// Stores a copy of a file, and returns the name of the blob once it is synced to disk.
    ///
    /// Reads the file once, in chunks. Throws `SyncError`: `.noStore`, `.notFound` (the file),
    /// `.accessDenied`, `.readOnly`, `.diskFull`, `.inputOutput`, `.usage` (a path that cannot be
    /// used).
    public func add(contentsOf file: String) throws(SyncError) -> String {
        let source = open(file, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw SyncError(LogError.system(errno, file)) }
        defer { _ = close(source) }
        return try keep { draft throws(SyncError) in try copy(source, file, draft) }
    }

    /// Stores bytes, and returns the name of the blob once it is synced to disk.
    ///
    /// Throws the same errors as `add(contentsOf:)`.
    public func add(_ bytes: [UInt8]) throws(SyncError) -> String {
        try keep { draft throws(SyncError) in
            try BlobStore.write(bytes, draft)
            return BlobStore.name(of: SHA256.hash(data: bytes))
        }
    }

    /// Removes a blob, if it exists.
    func remove(_ blob: String) {
        guard BlobStore.isName(blob) else { return }
        unlink(place(of: blob))
    }

    /// Returns the names of all blobs.
    func names() -> [String] {
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return folders.flatMap { folder in
            let names = try? FileManager.default.contentsOfDirectory(
                atPath: "\(directory)/\(folder)")
            return (names ?? []).filter(BlobStore.isName)
        }
    }

    // MARK: - Steps

    /// Returns the name of the blob with the given digest.
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

    private func folder(of blob: String) -> String { "\(directory)/\(blob.prefix(2))" }
    private func place(of blob: String) -> String { "\(folder(of: blob))/\(blob)" }

    /// Stores the draft that `fill` writes, under the name that `fill` returns.
    private func keep(
        _ fill: (ReplacedFile) throws(SyncError) -> String
    ) throws(SyncError) -> String {
        try inStore { () throws(SyncError) in
            try makeDirectory(directory)
            let draft = try SyncError.wrapping { () throws(LogError) in
                try ReplacedFile(replacing: "\(directory)/\(BlobStore.draftName)")
            }
            let blob = try fill(draft)
            try makeDirectory(folder(of: blob))
            // A blob with the same bytes may exist already; replacing it changes nothing.
            try SyncError.wrapping { () throws(LogError) in
                try draft.place(at: place(of: blob))
                // The folder of the blob may be new.
                try DurableFile.synchronize(directory)
            }
            return blob
        }
    }

    /// Runs `body`, which writes files into the store.
    ///
    /// Throws `.noStore` if there is no store, or if the store has disappeared before `body` fails.
    func inStore<R>(_ body: () throws(SyncError) -> R) throws(SyncError) -> R {
        try checkStoreExists()
        do throws(SyncError) {
            return try body()
        } catch {
            try checkStoreExists()
            throw error
        }
    }

    private func checkStoreExists() throws(SyncError) {
        try SyncError.wrapping { () throws(LogError) in
            if try !store.exists { _ = try store.readMarker() }
        }
    }

    private func copy(
        _ source: Int32, _ file: String, _ draft: ReplacedFile
    ) throws(SyncError) -> String {
        var hash = SHA256()
        var chunk = [UInt8](repeating: 0, count: BlobStore.chunkBytes)
        while true {
            let count = chunk.withUnsafeMutableBytes { read(source, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SyncError(LogError.system(errno, file)) }
            guard count > 0 else { break }
            chunk.withUnsafeBytes { hash.update(bufferPointer: .init(rebasing: $0[..<count])) }
            try BlobStore.write(chunk[..<count], draft)
        }
        return BlobStore.name(of: hash.finalize())
    }

    private static func write(
        _ bytes: some ContiguousBytes, _ draft: ReplacedFile
    ) throws(SyncError) {
        try SyncError.wrapping { () throws(LogError) in try draft.write(bytes) }
    }

    func makeDirectory(_ path: String) throws(SyncError) {
        try SyncError.wrapping { () throws(LogError) in try DurableFile.makeFolder(path) }
    }
}
