import Foundation
import TapedeckLMDB
import TapedeckLog
import TapedeckModel
import Testing

@testable import TapedeckProjections

/// A test store; the temporary directory of the store is removed when the object is released.
final class TestStore {
    let directory: String
    private(set) var log: EventLog
    private(set) var runner: ProjectionRunner
    private let projections: [any Projection]

    /// - Parameter isLive: Whether the projections exist from the beginning, so that all events are
    ///   folded into live tables; otherwise, the first read builds the tables.
    init(
        _ projections: [any Projection] = LibraryProjections.all, isLive: Bool = true,
        in folder: String = NSTemporaryDirectory()
    ) throws {
        directory = TestStore.emptyDirectory(in: folder)
        self.projections = projections
        log = try EventLog.create(directory, options: TestStore.options)
        runner = ProjectionRunner(log, projections: projections)
        if isLive { try touch() }
    }

    /// Options with a fixed clock, so that tests do not depend on the time.
    static let options = EventLog.Options(mapSizeBytes: 1 << 30, now: { 1_700_000_000_000 })

    deinit {
        runner.close()
        log.close()
        TestStore.remove(directory)
    }

    static func emptyDirectory(in folder: String = NSTemporaryDirectory()) -> String {
        folder + "/tapedeck-projections-\(UUID().uuidString)"
    }

    static func remove(_ directory: String) {
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Closes and reopens the store.
    ///
    /// - Parameter settled: Whether the projections are synced and closed first. If the projections
    ///   are not settled, the store is in the same state as after a crash of the process, and the
    ///   catalogue still lists the file as unsynced.
    func reopen(settled: Bool = true, projections: [any Projection]? = nil) throws {
        if settled {
            runner.close()
        } else {
            runner.abandon()
        }
        log.close()
        log = try EventLog(opening: directory, options: TestStore.options)
        runner = ProjectionRunner(log, projections: projections ?? self.projections)
    }

    /// Reopens the store as after a power loss: the boot id is different, and unsynced files have
    /// lost their contents.
    func reopenAfterPowerLoss() throws {
        let bootID = StoreDirectory.bootID
        var lost: Set<UInt64> = []
        for driver in runner.drivers {
            guard let entry = try log.viewsEntry(driver.fingerprint), entry.boot == bootID else {
                continue
            }
            lost.insert(entry.number)
            try log.setViews(
                ViewsEntry(number: entry.number, boot: "before the power loss"),
                for: [driver.fingerprint])
        }
        runner.abandon()
        for number in lost {
            try Data("lost".utf8).write(to: URL(fileURLWithPath: log.directory.views(number)))
        }
        try reopen(settled: false)
    }

    func append(_ events: any Event...) throws {
        try log.appendBlocking(try events.map { try ProposedEvent($0) })
    }

    // MARK: - Reading

    /// Returns the digests of the live tables, not of a rebuild.
    func liveDigests() throws -> [String: String] {
        try runner.catchUp(runner.drivers)
        var digests: [String: String] = [:]
        for (file, drivers) in try #require(try runner.serving(runner.drivers)) {
            try file.environment.read { transaction in
                for driver in drivers {
                    let tables = try #require(file.tables[driver.fingerprint])
                    digests[driver.name] = try tables.digest(driver, transaction).digest
                }
            }
        }
        return digests
    }

    /// Returns the file that serves all projections.
    func file() throws -> ViewsFile {
        let groups = try #require(try runner.serving(runner.drivers))
        #expect(groups.count == 1)
        return groups[0].file
    }

    /// Reads through the public API, which folds pending events.
    func touch(_ names: [String]? = nil) throws { try runner.read(names) { _ in } }

    /// Returns the names of the views and scratch files in the store's directory.
    func viewsFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).filter {
            $0.hasPrefix("views-") || $0.hasPrefix("scratch-")
        }.sorted()
    }

    func checkVerifies(
        workers: Int? = nil, _ note: String = "", sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let (_, differences) = try runner.verify(options: RebuildOptions(workers: workers))
        #expect(differences.isEmpty, "\(note)", sourceLocation: sourceLocation)
    }
}

extension RebuildReport {
    /// The digests by name.
    var digests: [String: String] {
        Dictionary(uniqueKeysWithValues: projections.map { ($0.name, $0.digest) })
    }
}

extension ProjectionRunner {
    /// Releases the files as if the process had died: nothing is synced or marked.
    func abandon() {
        stopFollowing()
        let open = files.withLock { files in
            defer { files = [:] }
            return Array(files.values)
        }
        for file in open { file.close() }
    }
}
