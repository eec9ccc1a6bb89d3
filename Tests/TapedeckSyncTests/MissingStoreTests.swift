import Foundation
import TapedeckLog
import TapedeckModel
@testable import TapedeckSync
import TestSupport
import Testing

/// Media is not written into a directory without a store.
struct MissingStoreTests {
    private let directory: TemporaryDirectory
    private let picture = "https://example.org/a.png"

    init() throws { directory = try TemporaryDirectory() }

    @Test func nothingIsWrittenWithoutAStore() throws {
        let blob = #expect(throws: SyncError.self) {
            try BlobStore(store: directory.path).add([1])
        }
        #expect(blob?.code == .noStore)
        let image = #expect(throws: SyncError.self) {
            try ImageCache(store: directory.path).keep([1], at: picture)
        }
        #expect(image?.code == .noStore)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }

    /// The error is not about the file that could not be written.
    @Test func disappearanceOfTheStoreIsReported() throws {
        let place = directory.file("store")
        try EventLog.create(place).close()
        let blobs = BlobStore(store: place)
        let error = #expect(throws: SyncError.self) {
            try blobs.inStore { () throws(SyncError) in
                try? FileManager.default.removeItem(atPath: place)
                try blobs.makeDirectory(place + "/blobs")
            }
        }
        #expect(error?.code == .noStore)
        let later = #expect(throws: SyncError.self) { try blobs.add([1]) }
        #expect(later?.code == .noStore)
    }

    @Test func otherErrorsAreKept() throws {
        try EventLog.create(directory.file("store")).close()
        try Data().write(to: URL(fileURLWithPath: directory.file("store/blobs")))
        let error = #expect(throws: SyncError.self) {
            try BlobStore(store: directory.file("store")).add([1])
        }
        #expect(error?.code == .usage)
    }
}
