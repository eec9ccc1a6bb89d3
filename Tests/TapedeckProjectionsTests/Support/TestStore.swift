import Foundation
import TapedeckLMDB
import TapedeckLog
import TapedeckModel
import Testing

@testable import TapedeckProjections

/// A store in a directory of its own, which goes with it.
final class TestStore {
    let directory: String
    private(set) var log: EventLog
    private(set) var runner: ProjectionRunner
    private let projections: [any Projection]

    /// - Parameter isLive: whether the projections are there from the beginning, so that all that comes
    ///   is folded into live tables; if not, the first look rebuilds them.
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

    /// The system's clock is no part of a test.
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

    /// Closes and opens the store.
    ///
    /// - Parameter settled: whether the projections are put on disk and closed first. If not, it is
    ///   as after a crash of the process: the catalogue goes on to say that the file is unsynced.
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

    /// As after a power loss: another boot, and whatever lay in unsynced files is gone.
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

    // MARK: - Looking

    /// The digests of live tables: what is read, not what a rebuild would give.
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

    /// The one file that serves all projections.
    func file() throws -> ViewsFile {
        let groups = try #require(try runner.serving(runner.drivers))
        #expect(groups.count == 1)
        return groups[0].file
    }

    /// Reads through the public door, which folds what there is to fold.
    func touch(_ names: [String]? = nil) throws { try runner.read(names) { _ in } }

    /// The files in the store's directory, but for those that are always there.
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
    /// Name → digest.
    var digests: [String: String] {
        Dictionary(uniqueKeysWithValues: projections.map { ($0.name, $0.digest) })
    }
}

extension ProjectionRunner {
    /// Lets go of the files as a process that dies does: nothing is put on disk or marked.
    func abandon() {
        stopFollowing()
        let open = files.withLock { files in
            defer { files = [:] }
            return Array(files.values)
        }
        for file in open { file.close() }
    }
}
