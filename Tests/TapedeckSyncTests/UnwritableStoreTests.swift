import Foundation
import TapedeckLog
import TapedeckModel
@testable import TapedeckSync
import TestSupport
import Testing

/// Errors for files and folders of a store that cannot be created.
@Suite(.offTasks) struct UnwritableStoreTests {
    /// Each call creates its first folder, which does not exist yet.
    @Test func firstFolderOnAReadOnlyMediumIsRefusedWithAHint() throws {
        let directory = try TemporaryDirectory()
        try EventLog.create(directory.file("store")).close()
        guard
            let disk = MountedDirectory(
                readOnly: directory.file("store"), at: directory.file("media"))
        else { return }
        let calls: [() throws -> Void] = [
            { _ = try BlobStore(store: disk.path).add([1]) },
            { try ImageCache(store: disk.path).keep([1], at: "https://example.org/a.png") },
            { _ = try RemoteLock(store: disk.path, "home", .sync) },
        ]
        for call in calls {
            let error = #expect(throws: SyncError.self) { try call() }
            #expect(error?.code == .readOnly, "\(String(describing: error))")
            #expect(error?.hint != nil)
        }
    }

    /// A folder for logins must not be created where a store was moved away.
    @Test func missingStoreIsNotCreatedForLogins() throws {
        let directory = try TemporaryDirectory()
        let error = #expect(throws: SyncError.self) {
            try LoginFiles.makeDirectory(in: directory.file("store"))
        }
        #expect(error?.code == .notFound)
        #expect(!FileManager.default.fileExists(atPath: directory.file("store")))
    }
}
