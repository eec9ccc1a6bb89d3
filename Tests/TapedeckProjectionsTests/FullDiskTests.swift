import Foundation
import TapedeckLog
import TapedeckModel
import TapedeckProjections
import TestSupport
import Testing

/// A full disk stops writes that do not fit and loses no data; the writes succeed once there is
/// space again.
///
/// `TAPEDECK_SMALL_DISK` names a directory on a separate file system of about 24 MB, such as one
/// made by `mount -t tmpfs -o size=24m tmpfs /mnt/small`.
@Suite(
    .enabled(if: ProcessInfo.processInfo.environment["TAPEDECK_SMALL_DISK"] != nil), .serialized,
    .offTasks)
struct FullDiskTests {
    private let disk = ProcessInfo.processInfo.environment["TAPEDECK_SMALL_DISK"] ?? ""

    private func filledStore() throws -> TestStore {
        let store = try TestStore(in: disk)
        for start in stride(from: 0, to: 3_000, by: 500) {
            try store.log.appendBlocking(
                try (start..<start + 500).map { number in
                    try ProposedEvent(
                        NoteAdded(
                            isbn: "\(number % 300)", reader: "\(number % 90)",
                            text: "\(number) " + String(repeating: "text ", count: 40)))
                })
        }
        return store
    }

    /// Fills the disk until less than `left` bytes are free; removing the returned file frees the
    /// space again.
    private func fill(leaving left: Int) throws -> String {
        let path = disk + "/ballast"
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        let file = try #require(FileHandle(forWritingAtPath: path))
        for size in [1 << 20, 1 << 16, 1 << 12] {
            while true {
                let attributes = try FileManager.default.attributesOfFileSystem(forPath: disk)
                let free = try #require((attributes[.systemFreeSize] as? NSNumber)?.intValue)
                guard free - size > left else { break }
                try file.write(contentsOf: Data(repeating: 1, count: size))
            }
        }
        try file.close()
        return path
    }

    @Test(arguments: [0, 100_000, 1_000_000, 2_000_000])
    func rebuildOnAFullDiskChangesNothing(left: Int) throws {
        let store = try filledStore()
        let digests = try store.liveDigests()
        let files = try store.viewsFiles()
        let ballast = try fill(leaving: left)
        defer { TestStore.remove(ballast) }
        let error = #expect(throws: (any Error).self) { try store.runner.rebuild() }
        #expect((error as? any CodedError)?.code == .diskFull, "\(String(describing: error))")
        let other = #expect(throws: (any Error).self) { try store.runner.verify() }
        #expect((other as? any CodedError)?.code == .diskFull, "\(String(describing: other))")
        #expect(try store.viewsFiles() == files)
        #expect(try store.liveDigests() == digests)
        TestStore.remove(ballast)
        _ = try store.runner.rebuild()
        try store.checkVerifies()
    }

    @Test func foldResumesWhenTheDiskHasSpaceAgain() throws {
        let store = try filledStore()
        try store.touch()
        let events = try (0..<2_000).map { number in
            try ProposedEvent(
                NoteAdded(
                    isbn: "new \(number)", reader: "r",
                    text: String(repeating: "text ", count: 60)))
        }
        try store.log.appendBlocking(events)
        let ballast = try fill(leaving: 50_000)
        defer { TestStore.remove(ballast) }
        let error = #expect(throws: (any Error).self) { try store.touch() }
        #expect((error as? any CodedError)?.code == .diskFull, "\(String(describing: error))")
        TestStore.remove(ballast)
        try store.touch()
        try store.checkVerifies()
    }
}
