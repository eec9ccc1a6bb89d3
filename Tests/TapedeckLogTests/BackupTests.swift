import Foundation
@testable import TapedeckLog
import TapedeckLMDB
import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct BackupTests {
    private let directory: TemporaryDirectory
    private let log: EventLog
    private let file: String

    init() throws {
        directory = try TemporaryDirectory("backup")
        log = try directory.store()
        try log.appendBlocking((0..<300).map { .sample($0) })
        try log.mergeIndex(keeping: 100)
        try log.recordReceipts([.sample(of: log.origin, 5)])
        file = directory.file("backup.mdb")
    }

    @Test func restoredStoreHasAllEventsAndANewOrigin() throws {
        let summary = try log.backup(to: file)
        #expect(summary.events == 300)
        try log.appendBlocking([.sample(1)])
        let restored = try EventLog.restore(from: file, into: directory.file("restored"))
        #expect(restored.events == 300)

        let copy = try EventLog(opening: directory.file("restored"))
        #expect(copy.storeID == log.storeID)
        #expect(copy.origin != log.origin)
        #expect(try copy.allEvents() == Array(log.allEvents().dropLast()))
        #expect(try copy.receipts(of: EventID(origin: log.origin, sequence: 5)).count == 1)
        #expect(try copy.verify().problems == [])
        let appended = try copy.appendBlocking([.sample(2)])
        #expect(appended.firstID == EventID(origin: copy.origin, sequence: 1))

        // The two stores continue separately and can still exchange events.
        try copy.export(to: directory.file("copy.tdx"))
        #expect(try log.importEvents(from: directory.file("copy.tdx")).recorded == 1)
        try log.export(to: directory.file("log.tdx"))
        #expect(try copy.importEvents(from: directory.file("log.tdx")).recorded == 1)
    }

    @Test func restoringInPlaceAssignsANewOriginDespiteAReusedInode() throws {
        try log.backup(to: file)
        try log.appendBlocking([.sample(1)])
        log.close()
        for _ in 0..<3 {
            try EventLog.erase(directory.file("store"))
            try EventLog.restore(from: file, into: directory.file("store"))
            let again = try EventLog(opening: directory.file("store"))
            #expect(again.origin != log.origin)
            again.close()
        }
    }

    @Test func restoredStoreKeepsItsOriginWhenReopened() throws {
        try log.backup(to: file)
        try EventLog.restore(from: file, into: directory.file("restored"))
        let first = try EventLog(opening: directory.file("restored"))
        first.close()
        #expect(try EventLog(opening: directory.file("restored")).origin == first.origin)
    }

    @Test func backupIsConsistentDuringAppends() throws {
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            for number in 0..<200 {
                do { try log.appendBlocking([.sample(number)]) } catch { Issue.record(error) }
            }
        }
        for round in 0..<5 {
            let path = directory.file("hot\(round).mdb")
            let summary = try log.backup(to: path)
            try EventLog.restore(from: path, into: directory.file("hot\(round)"))
            let copy = try EventLog(opening: directory.file("hot\(round)"))
            #expect(copy.head.rawValue == summary.events)
            #expect(try copy.verify().problems == [])
        }
        group.wait()
        #expect(log.head.rawValue == 500)
    }

    @Test func backupAndRestoreLeaveNoTemporaryFiles() throws {
        try log.backup(to: file)
        try log.backup(to: file)
        try EventLog.restore(from: file, into: directory.file("restored"))
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(names.sorted() == ["backup.mdb", "restored", "store"])
        let inside = try FileManager.default.contentsOfDirectory(
            atPath: directory.file("restored"))
        #expect(Set(inside).isSubset(of: ["store.json", "log.mdb", "log.mdb-lock", "open.lock"]))
    }

    @Test func viewsCatalogueIsNotRestored() throws {
        try log.setViews(ViewsEntry(number: 7, boot: ""), for: [Digest16(high: 1, low: 2)])
        try log.backup(to: file)
        try EventLog.restore(from: file, into: directory.file("restored"))
        let copy = try EventLog(opening: directory.file("restored"))
        #expect(try copy.viewsNumbers() == [])
        #expect(try log.viewsNumbers() == [7])
    }

    @Test func concurrentRestoresCreateOneStore() throws {
        try log.backup(to: file)
        for round in 0..<3 {
            let place = directory.file("raced\(round)")
            let said = try OpeningTests.race(place, "restore \(file)")
            #expect(said[0].hasPrefix("error storeExists") && said[1] == "ok")
            let copy = try EventLog(opening: place)
            #expect(try copy.allEvents() == log.allEvents())
            copy.close()
        }
    }

    @Test func restoringOverAnExistingStoreIsRefused() throws {
        try log.backup(to: file)
        let error = #expect(throws: LogError.self) {
            try EventLog.restore(from: file, into: directory.file("store"))
        }
        #expect(error?.code == .storeExists)
        #expect(try log.allEvents().count == 300)
    }

    @Test func invalidBackupIsRefusedAndLeavesNoFiles() throws {
        try log.backup(to: file)
        let whole = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
        var flipped = whole
        for index in stride(from: 8_192, to: whole.count, by: 4_096) { flipped[index + 10] ^= 0xFF }
        let cases: [(String, [UInt8])] = [
            ("empty", []), ("cut", Array(whole[..<(whole.count / 2)])),
            ("text", Array("no backup".utf8)), ("flipped", flipped),
        ]
        for (name, bytes) in cases {
            try Data(bytes).write(to: URL(fileURLWithPath: directory.file(name)))
            let error = #expect(throws: LogError.self) {
                try EventLog.restore(
                    from: directory.file(name), into: directory.file("from-" + name))
            }
            #expect(error?.code == .damaged, "\(name): \(String(describing: error))")
            #expect(!FileManager.default.fileExists(atPath: directory.file("from-" + name)))
        }
        let error = #expect(throws: LogError.self) {
            try EventLog.restore(from: directory.file("none"), into: directory.file("from-none"))
        }
        #expect(error?.code == .notFound)
    }

    /// An export is not a damaged backup.
    @Test func restoreRecognizesAnExport() throws {
        let export = directory.file("my export")
        try log.export(to: export)
        let error = #expect(throws: LogError.self) {
            try EventLog.restore(from: export, into: directory.file("restored"))
        }
        #expect(error?.code == .usage)
        #expect(error?.message == "\(export) is an export, not a backup")
        #expect(error?.hint?.hasSuffix("storectl import '\(export)'") == true)
        #expect(!FileManager.default.fileExists(atPath: directory.file("restored")))
    }

    @Test func damagedBackupIsRestoredIntactOrRefused() throws {
        try log.backup(to: file)
        let whole = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
        var random = SeededRandom(Seed.fresh())
        var refused = 0
        for _ in 0..<40 {
            var flipped = whole
            let bit = Int.random(in: 0..<whole.count * 8, using: &random)
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            try Data(flipped).write(to: URL(fileURLWithPath: directory.file("flipped")))
            let place = directory.file("restored")
            do {
                try EventLog.restore(from: directory.file("flipped"), into: place)
                let copy = try EventLog(opening: place)
                #expect(try copy.verify().problems == [], "bit \(bit)")
                #expect(try copy.allEvents() == log.allEvents(), "bit \(bit)")
                copy.close()
                try EventLog.erase(place)
            } catch let error as LogError {
                #expect(error.code == .damaged, "bit \(bit): \(error)")
                #expect(!FileManager.default.fileExists(atPath: place), "bit \(bit)")
                refused += 1
            }
        }
        #expect(refused > 0)
    }

    @Test func damagedStoreDoesNotOverwriteAGoodBackup() throws {
        try log.backup(to: file)
        let before = try Data(contentsOf: URL(fileURLWithPath: file))
        log.close()
        try RawStore.edit(directory.file("store")) { transaction, tables in
            var record = Array(try #require(try transaction.get(tables.events, integer: 7)))
            record[record.count - 1] ^= 1
            try transaction.put(tables.events, integer: 7, record)
        }
        let damaged = try EventLog(opening: directory.file("store"))
        let error = #expect(throws: LogError.self) { try damaged.backup(to: file) }
        #expect(error?.code == .damaged && error?.message.contains("record 7") == true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == before)
        damaged.close()
    }

    @Test func refusalOfANewerBackupNamesItsFormat() throws {
        log.close()
        try RawStore.edit(directory.file("store")) { transaction, tables in
            try transaction.setMeta(tables, MetaKey.format, [9, 0, 0, 0])
        }
        let error = #expect(throws: LogError.self) {
            try EventLog.restore(
                from: directory.file("store/log.mdb"), into: directory.file("restored"))
        }
        #expect(error?.code == .newerFormat)
        #expect(error?.message.contains("format 9") == true)
    }
}

@Suite(.offTasks) struct EraseTests {
    @Test func eraseRemovesAllFilesOfTheStore() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        let secret = Array("a sentence that must not stay".utf8)
        try log.appendBlocking([ProposedEvent(type: "NoteTaken", tags: [], payload: secret)])
        try log.mergeIndex()
        for name in [
            "views-12.mdb", "views-12.mdb-lock", "views-12.mdb.run3", "rebuild.lock",
            "scratch.lock", "turn.lock",
            "scratch-1B4E28BA-2FA1-11D2-883F-B9A761BDE3FB.mdb", "scratch-5E5.mdb-lock",
            "scratch-5E5.mdb.run0",
        ] {
            try Data().write(to: URL(fileURLWithPath: directory.file("store/" + name)))
        }
        let busy = #expect(throws: LogError.self) { try EventLog.erase(directory.file("store")) }
        #expect(busy?.code == .busy)
        log.close()
        try EventLog.erase(directory.file("store"))
        #expect(!FileManager.default.fileExists(atPath: directory.file("store")))
    }

    @Test func eraseKeepsUnrelatedFiles() throws {
        let directory = try TemporaryDirectory()
        try directory.store().close()
        for name in ["notes.txt", "views-x.mdb", "log.mdb.bak", "scratch-notes.mdb"] {
            try Data().write(to: URL(fileURLWithPath: directory.file("store/" + name)))
        }
        try EventLog.erase(directory.file("store"))
        let left = try FileManager.default.contentsOfDirectory(atPath: directory.file("store"))
        #expect(left.sorted() == ["log.mdb.bak", "notes.txt", "scratch-notes.mdb", "views-x.mdb"])
    }

    /// The target of a link may belong to something else.
    @Test func eraseKeepsAndNamesTheTargetsOfLinks() throws {
        let directory = try TemporaryDirectory()
        try directory.store().close()
        for name in ["blobs", "images"] {
            let target = directory.file("disk/" + name)
            try FileManager.default.createDirectory(
                atPath: target, withIntermediateDirectories: true)
            try Data([1]).write(to: URL(fileURLWithPath: target + "/file"))
            try #require(symlink(target, directory.file("store/" + name)) == 0)
        }
        // This target is missing, so nothing of it remains.
        try #require(symlink(directory.file("nothing"), directory.file("store/held")) == 0)
        let kept = try EventLog.erase(directory.file("store"))
        #expect(kept.map(PathParts.name) == ["blobs", "images"])
        for target in kept {
            #expect(target.contains("/disk/"))
            #expect(FileManager.default.fileExists(atPath: target + "/file"))
        }
        #expect(!FileManager.default.fileExists(atPath: directory.file("store")))
    }

    @Test func eraseRefusesADirectoryWithoutAStore() throws {
        let directory = try TemporaryDirectory()
        try Data().write(to: URL(fileURLWithPath: directory.file("log.mdb")))
        let error = #expect(throws: LogError.self) { try EventLog.erase(directory.path) }
        #expect(error?.code == .noStore)
        #expect(FileManager.default.fileExists(atPath: directory.file("log.mdb")))
    }

    /// Media without a store is not deleted, but it is not hidden either.
    @Test func eraseNamesMediaWithoutAStore() throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.file("blobs"), withIntermediateDirectories: false)
        let error = #expect(throws: LogError.self) { try EventLog.erase(directory.path) }
        #expect(error?.code == .noStore)
        #expect(error?.hint?.contains("blobs") == true)
        #expect(FileManager.default.fileExists(atPath: directory.file("blobs")))
    }

    /// After the first step of an erase the store no longer exists, whichever files remain.
    @Test func interruptedEraseCanBeCompleted() throws {
        let directory = try TemporaryDirectory()
        for isRestored in [false, true] {
            let log = try directory.store()
            try log.appendBlocking([.sample(1), .sample(2)])
            let backup = directory.file("backup.mdb")
            try log.backup(to: backup)
            log.close()
            let place = StoreDirectory(directory.file("store"))
            try FileManager.default.moveItem(atPath: place.marker, toPath: place.erasing)
            let error = #expect(throws: LogError.self) { try EventLog(opening: place.path) }
            #expect(error?.code == .noStore)
            #expect(error?.hint?.contains("erase --yes") == true)
            if isRestored {
                #expect(try EventLog.restore(from: backup, into: place.path).events == 2)
            } else {
                let made = try EventLog.create(place.path)
                #expect(made.storeID != log.storeID && made.head == .start)
                made.close()
            }
            #expect(try !place.isErasing)
            try FileManager.default.moveItem(atPath: place.marker, toPath: place.erasing)
            try FileManager.default.createDirectory(
                atPath: place.path + "/blobs/ab", withIntermediateDirectories: true)
            try EventLog.erase(place.path)
            #expect(!FileManager.default.fileExists(atPath: place.path))
        }
    }

    @Test func erasedStoreCanBeCreatedAgain() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        log.close()
        try EventLog.erase(directory.file("store"))
        #expect(try directory.store().storeID != log.storeID)
    }
}
