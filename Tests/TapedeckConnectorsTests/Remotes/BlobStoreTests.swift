import Foundation
import TapedeckLog
import TapedeckSync
import TapedeckTesting
import Testing

/// Storing large files under their digests.
struct BlobStoreTests {
    private let place: TemporaryStore

    init() throws {
        place = try TemporaryStore("blobs")
        try EventLog.create(place.directory).close()
    }

    private func file(_ bytes: Data) throws -> String {
        let path = place.path("file")
        try bytes.write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func filesAreStoredByDigestForTheirOwnerOnly() throws {
        let blobs = BlobStore(store: place.directory)
        let name = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(blobs.path(of: name) == nil)
        #expect(try blobs.add(contentsOf: file(Data("abc".utf8))) == name)
        let path = try #require(blobs.path(of: name))
        #expect(path == place.path("blobs/ba/\(name)"))
        #expect(FileManager.default.contents(atPath: path) == Data("abc".utf8))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        #expect(try blobs.add(contentsOf: file(Data("abc".utf8))) == name)
        let left = try FileManager.default.contentsOfDirectory(atPath: place.path("blobs"))
        #expect(left == ["ba"], "no temporary file is left")
    }

    @Test func largeFilesAreCopiedCompletely() throws {
        let blobs = BlobStore(store: place.directory)
        let bytes = Data((0..<3_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let name = try blobs.add(contentsOf: file(bytes))
        let path = try #require(blobs.path(of: name))
        #expect(FileManager.default.contents(atPath: path) == bytes)
    }

    @Test func invalidNamesAndPathsAreNotFound() throws {
        let blobs = BlobStore(store: place.directory)
        _ = try file(Data("secret".utf8))
        #expect(blobs.path(of: "../file") == nil)
        #expect(blobs.path(of: "") == nil)
        #expect(throws: SyncError.self) { try blobs.add(contentsOf: place.path("nothing")) }
    }
}
