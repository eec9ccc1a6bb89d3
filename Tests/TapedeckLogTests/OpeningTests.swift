import Foundation
@testable import TapedeckLog
import TapedeckLMDB
import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct OpeningTests {
    @Test func reopenedStoreIsUnchanged() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking((0..<100).map { .sample($0) })
        let (store, origin, events) = (log.storeID, log.origin, try log.allEvents())
        log.close()
        let again = try EventLog(opening: directory.file("store"))
        #expect(again.storeID == store)
        #expect(again.origin == origin)
        #expect(try again.allEvents() == events)
        #expect(try again.appendBlocking([.sample(1)]).firstID.sequence == 101)
    }

    @Test func storeCanBeOpenOnlyOnceInAProcess() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        let link = directory.file("link")
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: directory.file("store"))
        for path in [directory.file("store"), directory.file("store") + "/", link] {
            let error = #expect(throws: LogError.self) { try EventLog(opening: path) }
            #expect(error?.code == .busy)
        }
        log.close()
        try EventLog(opening: link).close()
    }

    /// A closed log that is freed later must not release the lock of the log opened after it.
    @Test func closedLogDoesNotAffectTheReopenedLog() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("store")
        var log = try directory.store()
        log.close()
        log = try EventLog(opening: path)
        try log.appendBlocking([.sample(1)])
        for call in [
            { _ = try EventLog(opening: path) }, { try EventLog.erase(path) },
            { try EventLog.shrink(path) },
        ] {
            let error = #expect(throws: LogError.self) { try call() }
            #expect(error?.code == .busy)
        }
        #expect(try log.allEvents().count == 1)
    }

    @Test func unreferencedStoreIsClosed() throws {
        let directory = try TemporaryDirectory()
        // The last reference may be released in the background, where the index is merged.
        try directory.store().close()
        for _ in 0..<20 {
            let log = try openSoon(directory.file("store"))
            try log.appendBlocking((0..<100).map { .sample($0) })
        }
    }

    private func openSoon(_ path: String) throws -> EventLog {
        var opened: EventLog?
        try eventuallyBlocking("the release of the last reference to the store") {
            opened = try? EventLog(opening: path, options: .init(unindexedEventsMax: 10))
            return opened != nil
        }
        return try #require(opened)
    }

    @Test func callsAfterClosingAreRefused() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking([.sample(1)])
        log.close()
        log.close()
        let calls: [(EventLog) throws -> Void] = [
            { _ = try $0.appendBlocking([.sample(1)]) }, { _ = try $0.events(after: .start) },
            { _ = try $0.verify() }, { _ = try $0.export(to: directory.file("x")) },
            { _ = try $0.backup(to: directory.file("x")) }, { try $0.mergeIndex() },
            { _ = try $0.recordReceipts([.sample(of: $0.origin)]) }, { _ = try $0.currentHead() },
        ]
        for call in calls {
            let error = #expect(throws: LogError.self) { try call(log) }
            #expect(error?.code == .closed)
        }
    }

    @Test func creatingOverAnExistingStoreIsRefused() throws {
        let directory = try TemporaryDirectory()
        try directory.store().close()
        let error = #expect(throws: LogError.self) { try directory.store() }
        #expect(error?.code == .storeExists)
    }

    /// A store that is created with events contains them whenever it exists.
    @Test func storesCanBeCreatedWithEvents() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("store")
        let events: [ProposedEvent] = [.sample(1), .sample(2)]
        let log = try EventLog.create(path, events: events)
        #expect(try log.allEvents().map(\.payload) == events.map(\.payload))
        try log.appendBlocking([.sample(3)])
        #expect(try log.verify().events == 3)
        log.close()
        let marker = path + "/store.json"
        try FileManager.default.removeItem(atPath: marker)
        // The events of a log without a marker must not be mixed with others.
        let error = #expect(throws: LogError.self) {
            try EventLog.create(path, events: [.sample(1)])
        }
        #expect(error?.code == .storeExists)
        let again = try EventLog.create(path)
        #expect(again.head == LogPosition(rawValue: 3))
    }

    @Test func openingAMissingStoreIsRefused() throws {
        let error = #expect(throws: LogError.self) {
            try EventLog(opening: TemporaryDirectory().file("nothing"))
        }
        #expect(error?.code == .noStore)
    }

    @Test func newerFormatIsRefusedAndItsNumberIsReported() throws {
        let directory = try TemporaryDirectory()
        try directory.store().close()
        try Data(#"{"format":3,"store":"00"}"#.utf8)
            .write(to: URL(fileURLWithPath: directory.file("store/store.json")))
        let error = #expect(throws: LogError.self) {
            try EventLog(opening: directory.file("store"))
        }
        #expect(error?.code == .newerFormat)
        #expect(error?.message.contains("format 3") == true)
    }

    struct Damage: CustomTestStringConvertible {
        var testDescription: String
        var damage: @Sendable (_ store: String) throws -> Void
    }

    static let damages: [Damage] = [
        Damage(testDescription: "log missing") {
            try FileManager.default.removeItem(atPath: $0 + "/log.mdb")
        },
        Damage(testDescription: "log empty") {
            try Data().write(to: URL(fileURLWithPath: $0 + "/log.mdb"))
        },
        Damage(testDescription: "log of ten bytes") { truncate($0 + "/log.mdb", 10) },
        Damage(testDescription: "log of one page") { truncate($0 + "/log.mdb", 4_096) },
        Damage(testDescription: "log of one page and a bit") { truncate($0 + "/log.mdb", 4_200) },
        Damage(testDescription: "log of two pages") { truncate($0 + "/log.mdb", 8_192) },
        Damage(testDescription: "log cut in the middle") { truncate($0 + "/log.mdb", 40_000) },
        Damage(testDescription: "log without its last byte") { path in
            let size = try Data(contentsOf: URL(fileURLWithPath: path + "/log.mdb")).count
            truncate(path + "/log.mdb", off_t(size - 1))
        },
        Damage(testDescription: "log of noise") { path in
            var random = SeededRandom(1)
            try Data(random.bytes(100_000)).write(to: URL(fileURLWithPath: path + "/log.mdb"))
        },
        Damage(testDescription: "log of text") { path in
            try Data(repeating: 0x41, count: 100_000).write(
                to: URL(fileURLWithPath: path + "/log.mdb"))
        },
        Damage(testDescription: "log of zeros") { path in
            try Data(count: 100_000).write(to: URL(fileURLWithPath: path + "/log.mdb"))
        },
        Damage(testDescription: "log is a directory") { path in
            try FileManager.default.removeItem(atPath: path + "/log.mdb")
            try FileManager.default.createDirectory(
                atPath: path + "/log.mdb/inside", withIntermediateDirectories: true)
        },
        Damage(testDescription: "foreign LMDB file") { path in
            try FileManager.default.removeItem(atPath: path + "/log.mdb")
            let environment = try Environment(
                path: path + "/log.mdb", options: .init(creates: true))
            let table = try environment.openTable("other")
            try environment.write { try $0.put(table, [1], [2]) }
            environment.close()
        },
        Damage(testDescription: "marker of noise") { path in
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path + "/store.json"))
        },
    ]

    @Test(arguments: damages) func damagedStoreIsRefusedWithATypedError(_ damage: Damage) throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking((0..<500).map { .sample($0, payload: 100) })
        log.close()
        try damage.damage(directory.file("store"))
        let error = #expect(throws: LogError.self) {
            try EventLog(opening: directory.file("store"))
        }
        #expect(error?.code == .damaged, "\(String(describing: error))")
        #expect(error?.message.contains(directory.path) == true)
        let report = try EventLog.verify(directory.file("store"))
        #expect(!report.isIntact)
    }

    @Test func copiedStoreGetsANewOrigin() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking([.sample(1), .sample(2)])
        let origin = log.origin
        log.close()
        try FileManager.default.copyItem(
            atPath: directory.file("store"), toPath: directory.file("copy"))
        let copy = try EventLog(opening: directory.file("copy"))
        #expect(copy.storeID == log.storeID)
        #expect(copy.origin != origin)
        #expect(
            try copy.appendBlocking([.sample(3)]).firstID
                == EventID(origin: copy.origin, sequence: 1))
        #expect(try EventLog(opening: directory.file("store")).origin == origin)
        #expect(try copy.verify().problems == [])
    }

    // MARK: - Creating a store

    /// Runs a command in two processes that begin once both of them are waiting for the lock, and
    /// returns what each process printed.
    static func race(_ store: String, _ command: String) throws -> [String] {
        let place = StoreDirectory(store)
        _ = try place.create()
        let lock = try place.lockAlone("holding") {}
        let children = try (1...2).map { seed in
            try ChildProcess(store, seed: UInt64(seed), "doing", command)
        }
        for child in children {
            try eventuallyBlocking("a process at the lock") {
                child.hasOpen(place.openingLock)
            }
        }
        lock.release()
        return try children.map { try #require(try $0.finish().lines.first) }.sorted()
    }

    @Test func concurrentCreatorsCreateOneStore() throws {
        let directory = try TemporaryDirectory()
        for round in 0..<5 {
            let store = directory.file("store\(round)")
            let said = try OpeningTests.race(store, "create")
            #expect(said[0].hasPrefix("error storeExists"))
            let log = try EventLog(opening: store)
            #expect(said[1] == "ok \(log.storeID)")
            #expect(try log.verify().problems == [])
            log.close()
        }
    }

    @Test func openingWaitsForTheCreator() throws {
        let directory = try TemporaryDirectory()
        let place = StoreDirectory(directory.file("store"))
        let store = try NewStore.build(at: place, "creating", adopts: true) {
            part throws(LogError) in
            try EventLog.create(part.path).close()
        } finish: { _, _ throws(LogError) in
            let child = try LogError.wrapping { try ChildProcess(place.path, seed: 1, ["3"]) }
            try LogError.wrapping {
                try eventuallyBlocking("a process at the lock") {
                    child.hasOpen(place.openingLock)
                }
            }
            return child
        }
        #expect(try store.finish().acknowledged == 3)
    }

    @Test func failedCreationLeavesNoFiles() throws {
        let directory = try TemporaryDirectory()
        let place = directory.file("some/where/store")
        let error = #expect(throws: LogError.self) {
            try EventLog.create(place, options: .init(mapSizeBytes: 1 << 62))
        }
        #expect(error != nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])

        // If creation fails after the store has been moved into place, no files remain.
        for isThere in [false, true] {
            let store = StoreDirectory(directory.file("other"))
            if isThere { _ = try store.create() }
            #expect(throws: LogError.self) {
                try NewStore.build(at: store, "creating", adopts: true) {
                    part throws(LogError) in
                    try EventLog.create(part.path).close()
                } finish: { _, _ throws(LogError) in
                    #expect((try? store.exists) == true)
                    throw LogError(.diskFull, "no room")
                }
            }
            #expect(FileManager.default.fileExists(atPath: store.path) == isThere)
            if isThere { #expect(try store.names() == []) }
        }
    }

    /// A healthy store that is moved while it is being opened must not be called damaged, because
    /// the hint for a damaged store says to erase it.
    @Test func movedStoreIsNotReportedAsDamaged() throws {
        let directory = try TemporaryDirectory()
        try directory.store().close()
        let (store, elsewhere) = (directory.file("store"), directory.file("elsewhere"))
        let child = try SteppedChild(store)
        var isNoStore: [Bool] = []
        while true {
            child.begin("look")
            for _ in isNoStore where !child.isDone { child.go() }
            if child.isDone { break }
            try #require(rename(store, elsewhere) == 0)
            while !child.isDone { child.go() }
            try #require(rename(elsewhere, store) == 0)
            let result = try #require(child.result)
            #expect(["error noStore", "ok"].contains(where: result.hasPrefix), "\(result)")
            isNoStore.append(result.hasPrefix("error noStore"))
        }
        #expect(isNoStore.contains(true))
        #expect(child.result?.hasPrefix("ok") == true)
    }

    /// Otherwise the marker of one store could be used with the log of another.
    @Test func storeThatReplacesAnotherIsNotOpenedUnderItsLock() throws {
        let directory = try TemporaryDirectory()
        try directory.store("first").close()
        try directory.store("second").close()
        let place = StoreDirectory(directory.file("first"))
        let lock = try #require(try place.lockForOpening(isReadOnly: false))
        defer { lock.release() }
        try place.checkIsInPlace(lock)
        try #require(rename(place.path, directory.file("elsewhere")) == 0)
        let moved = #expect(throws: LogError.self) { try place.checkIsInPlace(lock) }
        #expect(moved?.code == .noStore)
        try #require(rename(directory.file("second"), place.path) == 0)
        let replaced = #expect(throws: LogError.self) { try place.checkIsInPlace(lock) }
        #expect(replaced?.code == .busy)
    }

    @Test func missingFileIsDamageOnlyIfItsFolderExists() throws {
        let directory = try TemporaryDirectory()
        func code(_ path: String) -> ErrorCode {
            LogError(LMDBError(.notFound, path: path, detail: "it is missing")).code
        }
        #expect(code(directory.file("log.mdb")) == .damaged)
        #expect(code(directory.file("gone/log.mdb")) == .notFound)
    }

    /// If the interrupted restore were kept, the events of the backup would stay on disk.
    @Test func erasingDeletesAnInterruptedRestore() throws {
        let directory = try TemporaryDirectory()
        let place = StoreDirectory(directory.file("store"))
        _ = try place.create()
        try EventLog.create(place.path + "/store.0123456789abcdef.tapedeck-part").close()
        try EventLog.erase(place.path)
        #expect(!FileManager.default.fileExists(atPath: place.path))
        let error = #expect(throws: LogError.self) { try EventLog.erase(place.path) }
        #expect(error?.code == .noStore)
    }

    /// The states in which a killed process can leave a store, step by step.
    enum CutOff: CaseIterable {
        case directory, part, log, marker, erasingMarked, erasingWithoutLog
    }

    @Test(arguments: CutOff.allCases)
    func interruptedOperationsAreFinishedOrRemoved(_ cutOff: CutOff) throws {
        let directory = try TemporaryDirectory()
        let place = StoreDirectory(directory.file("store"))
        let part = StoreDirectory(place.path + "/store.0123456789abcdef.tapedeck-part")
        let files = FileManager.default
        _ = try place.create()
        try Data().write(to: URL(fileURLWithPath: place.openingLock))
        let log = try EventLog.create(part.path)
        switch cutOff {
        case .directory:
            log.close()
            try files.removeItem(atPath: part.path)
        case .part:
            log.close()
        case .log, .marker:
            log.close()
            try files.moveItem(atPath: part.log, toPath: place.log)
            if cutOff == .marker { try files.moveItem(atPath: part.marker, toPath: place.marker) }
        case .erasingMarked, .erasingWithoutLog:
            try log.appendBlocking([.sample(1)])
            log.close()
            try files.moveItem(atPath: part.log, toPath: place.log)
            try files.moveItem(atPath: part.marker, toPath: place.erasing)
            if cutOff == .erasingWithoutLog { try files.removeItem(atPath: place.log) }
        }
        let opened = Result { try EventLog(opening: place.path) }
        if cutOff == .marker {
            let again = try opened.get()
            #expect(again.storeID == log.storeID)
            again.close()
        } else {
            let error = #expect(throws: LogError.self) { try opened.get() }
            #expect(error?.code == .noStore)
            if [.part, .log].contains(cutOff) {
                #expect(error?.message.contains(PathParts.name(of: part.path)) == true)
                #expect(error?.hint?.contains("storectl restore") == true)
            }
        }
        if cutOff == .marker {
            let error = #expect(throws: LogError.self) { try EventLog.create(place.path) }
            #expect(error?.code == .storeExists)
            let again = try EventLog(opening: place.path)
            #expect(again.storeID == log.storeID && again.origin == log.origin)
            again.close()
        } else {
            let made = try EventLog.create(place.path)
            #expect(made.storeID != log.storeID && made.head == .start)
            made.close()
        }
        #expect(try !place.names().contains { StoreDirectory.isPart($0) })
        try EventLog.erase(place.path)
        #expect(!files.fileExists(atPath: place.path))
    }

    /// No other command removes these files from a store that is in use.
    @Test func openingRemovesTheFilesOfKilledWriters() throws {
        let directory = try TemporaryDirectory()
        try directory.store().close()
        let place = StoreDirectory(directory.file("store"))
        let digits = ".0123456789abcdef.tapedeck-part"
        try EventLog.create(place.path + "/store" + digits).close()
        for name in ["log.mdb" + digits, "store.json" + digits, "mine" + digits] {
            try Data([1]).write(to: URL(fileURLWithPath: place.path + "/" + name))
        }
        let living = try DraftFile(of: place.path + "/other")
        func unfinished() throws -> Set<String> {
            Set(try place.names().filter { $0.hasSuffix(".tapedeck-part") })
        }
        let all = try unfinished()
        #expect(all.count == 5)
        try EventLog(opening: place.path, options: .init(isReadOnly: true)).close()
        #expect(try unfinished() == all)
        try EventLog(opening: place.path).close()
        // Only the store's own files are removed.
        #expect(try unfinished() == ["mine" + digits, PathParts.name(of: living.path)])
    }

    /// A process that was killed before it created a store, or after it erased one, leaves a lock
    /// file.
    @Test(arguments: ["", "process 1 is erasing it"])
    func leftoverLockFileIsRemoved(note: String) throws {
        let directory = try TemporaryDirectory()
        let place = StoreDirectory(directory.file("store"))
        func leave() throws {
            _ = try place.create()
            try Data(note.utf8).write(to: URL(fileURLWithPath: place.openingLock))
        }
        try leave()
        let opened = #expect(throws: LogError.self) { try EventLog(opening: place.path) }
        #expect(opened?.code == .noStore)
        #expect(try place.names() == [])

        try leave()
        let erased = #expect(throws: LogError.self) { try EventLog.erase(place.path) }
        #expect(erased?.code == .noStore)
        #expect(!FileManager.default.fileExists(atPath: place.path))

        // A living process keeps its lock, and other files stay.
        try leave()
        let lock = try #require(try FileLock.take(place.openingLock, .alone))
        #expect(throws: LogError.self) { try EventLog.erase(place.path) }
        #expect(try place.names() == ["open.lock"])
        lock.release()
        try Data().write(to: URL(fileURLWithPath: place.path + "/notes.txt"))
        #expect(throws: LogError.self) { try EventLog.erase(place.path) }
        #expect(try place.names() == ["notes.txt"])

        try leave()
        try EventLog.create(place.path).close()
        try EventLog.erase(place.path)
        try leave()
        let backup = directory.file("backup.mdb")
        let other = try directory.store("other")
        try other.backup(to: backup)
        other.close()
        #expect(try EventLog.restore(from: backup, into: place.path).events == 0)
    }

    /// A log with events but without a marker becomes a store again.
    @Test func logWithoutMarkerBecomesAStoreAgain() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking([.sample(1), .sample(2)])
        log.close()
        try FileManager.default.removeItem(atPath: directory.file("store/store.json"))
        let backup = directory.file("backup.mdb")
        try EventLog.create(directory.file("other")).close()
        let other = try EventLog(opening: directory.file("other"))
        try other.backup(to: backup)
        let error = #expect(throws: LogError.self) {
            try EventLog.restore(from: backup, into: directory.file("store"))
        }
        #expect(error?.code == .storeExists)
        let again = try EventLog.create(directory.file("store"))
        #expect(again.storeID == log.storeID && again.origin == log.origin)
        #expect(try again.allEvents().count == 2)
        let child = try ChildProcess(directory.file("store"), seed: 1, ["2"])
        #expect(try child.finish().acknowledged == 2)
        // The store is locked like any open store.
        let eraser = try ChildProcess(directory.file("store"), seed: 1, "doing", "erase")
        #expect(try eraser.finish().lines.first?.hasPrefix("error busy") == true)
    }

    @Test func failedOpeningLeavesNoFiles() throws {
        let directory = try TemporaryDirectory()
        _ = try StoreDirectory(directory.file("empty")).create()
        for name in ["empty", "missing"] {
            let error = #expect(throws: LogError.self) {
                try EventLog(opening: directory.file(name))
            }
            #expect(error?.code == .noStore)
        }
        #expect(try StoreDirectory(directory.file("empty")).names() == [])
        #expect(!FileManager.default.fileExists(atPath: directory.file("missing")))
    }
}
