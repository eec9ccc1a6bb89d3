import Foundation
import TapedeckLMDB
import TapedeckLog
import TestSupport
import Testing

/// Drafts of killed writers do not stay on the disk.
@Suite(.offTasks) struct DraftFileTests {
    private let directory: TemporaryDirectory
    private let target: String

    init() throws {
        directory = try TemporaryDirectory()
        target = directory.file("copy")
    }

    private var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(
                atPath: PathParts.folder(of: target)
            ).sorted()
        }
    }

    /// Leaves the file that a killed writer would leave, which no process has locked.
    private func leave(_ name: String) throws -> String {
        let path = directory.file(name)
        try Data("half".utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func theNextDraftRemovesTheDraftsOfKilledWriters() throws {
        for number in ["0123456789abcdef", "fedcba9876543210"] {
            _ = try leave("copy.\(number).tapedeck-part")
        }
        let draft = try DraftFile(of: target)
        #expect(try names == [PathParts.name(of: draft.path)])
        try draft.write([UInt8]("whole".utf8))
        try draft.place()
        #expect(try names == ["copy"])
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "whole")
    }

    /// Another writer of the same target may be slow, stopped or suspended.
    @Test func draftsOfLivingWritersStay() throws {
        let slow = try DraftFile(of: target)
        try slow.write([UInt8]("slow".utf8))
        let fast = try DraftFile(of: target)
        try fast.write([UInt8]("fast".utf8))
        try fast.place()
        DraftFile.removeAbandoned(of: target)
        #expect(try names == ["copy", PathParts.name(of: slow.path)])
        try slow.place()
        #expect(try names == ["copy"])
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "slow")
    }

    /// The writer can be another process.
    @Test func draftsOfAnotherProcessStayUntilItIsKilled() throws {
        let child = try ChildProcess(target, seed: 0, "drafting")
        child.waitUntilOpen()
        DraftFile.removeAbandoned(of: target)
        #expect(try names.count == 1)
        child.kill()
        _ = try child.finish()
        #expect(try names.count == 1)
        DraftFile.removeAbandoned(of: target)
        #expect(try names.isEmpty)
    }

    @Test func otherFilesStay() throws {
        let others = [
            "copy", "copy.tapedeck-part", "copy.0123456789ABCDEF.tapedeck-part",
            "copy.0123.tapedeck-part", "copy.more.0123456789abcdef.tapedeck-part",
            "other.0123456789abcdef.tapedeck-part", "copy.0123456789abcdef.tapedeck-part.txt",
        ]
        for name in others { _ = try leave(name) }
        let folder = "copy.1111111111111111.tapedeck-part"
        try FileManager.default.createDirectory(
            atPath: directory.file(folder), withIntermediateDirectories: false)
        let link = "copy.2222222222222222.tapedeck-part"
        symlink(directory.file("copy"), directory.file(link))
        DraftFile.removeAbandoned(of: target)
        #expect(try names == (others + [folder, link]).sorted())
    }

    @Test func failuresLeaveNothing() throws {
        do {
            let draft = try DraftFile(of: target)
            try draft.write([1])
        }
        #expect(try names.isEmpty)
        let error = #expect(throws: DraftFile.Failure.self) {
            try DraftFile(of: directory.file("missing/copy"))
        }
        #expect(error?.number == ENOENT)
    }

    /// Exports and backups remove the partial file that a killed process left behind for the same
    /// destination.
    @Test func exportsAndBackupsCleanUp() throws {
        let log = try EventLog.create(directory.file("store"))
        defer { log.close() }
        for (name, write) in [
            ("events", { try log.export(to: $0) as Any }),
            ("backup", { try log.backup(to: $0) as Any }),
        ] as [(String, (String) throws -> Any)] {
            let left = try leave("\(name).0123456789abcdef.tapedeck-part")
            _ = try write(directory.file(name))
            #expect(!FileManager.default.fileExists(atPath: left), "\(name)")
        }
        #expect(try names == ["backup", "events", "store"])
    }
}
