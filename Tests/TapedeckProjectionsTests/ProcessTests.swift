import Foundation
import Synchronization
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// Several processes share a store: each of them folds, all see the same state, and a crash of one
/// process does not affect the others.
@Suite(.serialized, .offTasks) struct ProcessTests {
    /// Appends and reads, and checks that reads include what was appended.
    private static func work(
        in directory: String, as name: String, projections: [any Projection], rounds: Int
    ) throws {
        try open(directory, projections) { log, runner in
            // Each process starts working when both processes are ready.
            try log.appendBlocking([
                ProposedEvent(type: "ProcessStarted", tags: [try Tag("process", name)], payload: [])
            ])
            try eventuallyBlocking("the process other than \(name)") {
                try log.events(after: .start, type: "ProcessStarted").count == 2
            }
            try work(log, runner, name, projections, rounds)
        }
    }

    private static func open(
        _ directory: String, _ projections: [any Projection] = LibraryProjections.all,
        _ body: (EventLog, ProjectionRunner) throws -> Void
    ) throws {
        let log = try EventLog(opening: directory)
        let runner = ProjectionRunner(log, projections: projections)
        try body(log, runner)
        runner.close()
        log.close()
    }

    private static func work(
        _ log: EventLog, _ runner: ProjectionRunner, _ name: String,
        _ projections: [any Projection], _ rounds: Int
    ) throws {
        for number in 0..<rounds {
            try log.appendBlocking([
                try ProposedEvent(BookMoved(isbn: name, from: "all", to: name)),
                try ProposedEvent(NoteAdded(isbn: name, reader: "all", text: "\(number)")),
            ])
            let counts = try runner.read { views in
                try projections.map { projection in
                    switch projection {
                    case let counts as ShelfCounts:
                        try views.state(of: counts, key: Tag("shelf", name))?.moves
                    case let history as BookHistory:
                        try views.state(of: history, key: Tag("book", name)).map { $0.count / 2 }
                    default: UInt64(number + 1)
                    }
                }
            }
            guard counts.allSatisfy({ $0 == UInt64(number + 1) }) else {
                throw PoisonError(description: "round \(number) read \(counts)")
            }
        }
    }

    /// Two processes take turns folding one file, and one of them folds only half of its
    /// projections.
    ///
    /// Under the law `.any`, an event that is folded twice would be counted twice.
    @Test func noEventIsFoldedTwiceByTwoProcesses() async throws {
        let store = try TestStore()
        try store.append(NoteAdded(isbn: "0", reader: "all", text: "first"))
        try store.touch()
        let rounds: UInt64 = 250
        store.runner.close()
        store.log.close()
        async let child: Void = ProcessTests.inChild(store.directory, Int(rounds))
        try await Task.detached { [directory = store.directory] in
            try ProcessTests.work(
                in: directory, as: "parent", projections: LibraryProjections.all,
                rounds: Int(rounds))
        }.value
        await child
        try store.reopen()
        try blocking {
            let (all, notes) = try store.runner.read { views in
                (
                    try views.state(of: ShelfCounts(), key: Tag("shelf", "all"))?.moves,
                    try views.state(of: ReaderNotes(), key: Tag("reader", "all"))?.notes
                )
            }
            #expect(all == 2 * rounds)
            #expect(notes == 2 * rounds + 1)
        }
        try store.checkVerifies()
    }

    private static func inChild(_ directory: String, _ rounds: Int) async {
        await #expect(processExitsWith: .success) {
            [directory = directory as String, rounds = rounds as Int] in
            try ProcessTests.work(
                in: directory, as: "child",
                projections: [ShelfCounts(), CardCatalogue(), ReaderNotes()], rounds: rounds)
        }
    }

    @Test func observersSeeChangesFoldedByAnotherProcess() async throws {
        let store = try TestStore()
        try store.append(BookReceived(isbn: "1", title: "Emma", shelf: "a"))
        var changes = store.runner.observe(CardCatalogue()).makeAsyncIterator()
        #expect(await changes.next() == .reset)
        await #expect(processExitsWith: .success) { [directory = store.directory as String] in
            try ProcessTests.open(directory) { log, runner in
                try log.appendBlocking([
                    try ProposedEvent(
                        BookReceived(isbn: "1", title: "Sanditon", shelf: "a", version: 2))
                ])
                try runner.read { _ in }
            }
        }
        guard case .changes(let diffs)? = await changes.next() else {
            Issue.record("no change arrived")
            return
        }
        #expect(diffs.count == 1)
        guard case .moved(let from, let row)? = diffs.first else {
            Issue.record("\(diffs)")
            return
        }
        #expect(from == RowKey().text("Emma").text("1").bytes)
        #expect(row.key == RowKey().text("Sanditon").text("1").bytes)
    }

    @Test func rebuildByAnotherProcessIsAdopted() async throws {
        let store = try TestStore()
        try store.append(BookReceived(isbn: "1", title: "Emma", shelf: "a"))
        let digests = try store.liveDigests()
        var changes = store.runner.observe(CardCatalogue()).makeAsyncIterator()
        #expect(await changes.next() == .reset)
        await #expect(processExitsWith: .success) { [directory = store.directory as String] in
            try ProcessTests.open(directory) { _, runner in _ = try runner.rebuild() }
        }
        #expect(await changes.next() == .reset)
        #expect(try store.liveDigests() == digests)
        #expect(try store.file().number == 2)
    }

    @Test func fileGrownByAnotherProcessIsAdopted() async throws {
        let store = try TestStore()
        store.runner.close()
        let small = try ViewsFile(
            path: store.log.directory.views(1), number: 1, projections: [], creating: false,
            mapSizeBytes: 1 << 16)
        try store.reopen(settled: false)
        try store.touch()
        let before = small.environment.facts().mapSizeBytes
        await #expect(processExitsWith: .success) { [directory = store.directory as String] in
            try ProcessTests.open(directory) { log, runner in
                for number in 0..<20 {
                    let text = String(repeating: "\(number)", count: 20_000)
                    try log.appendBlocking([
                        try ProposedEvent(NoteAdded(isbn: "\(number)", reader: "r", text: text))
                    ])
                    try runner.read { _ in }
                }
            }
        }
        try store.touch()
        try store.checkVerifies()
        try store.append(NoteAdded(isbn: "1", reader: "r", text: "a"))
        try store.checkVerifies()
        #expect(small.environment.facts().mapSizeBytes > before)
        small.close()
    }

    // MARK: - Killed processes

    /// Kills the process, as in a crash, at this step of a rebuild.
    private static func death(atStep steps: Int) -> @Sendable () -> Bool {
        let left = Atomic(steps)
        return {
            if left.subtract(1, ordering: .relaxed).newValue < 0 { kill(getpid(), SIGKILL) }
            return false
        }
    }

    /// A rebuild checks for cancellation once per thread and block, and once per partition.
    @Test(arguments: [0, 2, 6, 11, 16])
    func processKilledInARebuildDamagesNothing(step: Int) async throws {
        let store = try TestStore()
        var random = SeededGenerator(UInt64(step))
        try store.log.record(try HistoryGenerator(events: 150).generate(&random).arrival(&random))
        let digests = try store.liveDigests()
        store.runner.close()
        store.log.close()
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [directory = store.directory as String, step = step as Int] in
            try ProcessTests.open(directory) { _, runner in
                try runner.read { _ in }
                _ = try runner.rebuild(
                    options: RebuildOptions(
                        workers: 2, isCancelled: ProcessTests.death(atStep: step)))
            }
        }
        try store.reopen()
        #expect(try store.liveDigests() == digests)
        #expect(try store.file().number == 1)
        try store.append(NoteAdded(isbn: "1", reader: "r", text: "a"))
        try store.checkVerifies()
        _ = try blocking { try store.runner.rebuild() }
        #expect(try store.viewsFiles().filter { $0.hasSuffix(".mdb") } == ["views-3.mdb"])
    }

    /// The number of kills: one for every eight rounds of the log's own kill loop, because
    /// processes start slowly.
    private static let kills = max(
        3, Seed.setting("TAPEDECK_KILL_ROUNDS", default: 25) / 8)

    /// Children append and fold in small steps in one store and are killed at any point, one after
    /// another; afterwards the tables equal a fresh replay.
    @Test
    func projectionsOfKilledProcessesEqualAFreshReplay() async throws {
        let store = try TestStore()
        try store.touch()
        store.runner.close()
        store.log.close()
        let seed = Seed()
        var random = seed.generator()
        for _ in 0..<ProcessTests.kills {
            let (life, milliseconds) = (random.next(), random.number(below: 150) + 10)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    directory = store.directory as String, life = life as UInt64,
                    milliseconds = milliseconds as Int
                ] in
                var random = SeededGenerator(life)
                let history = try HistoryGenerator(events: 2_000).generate(&random)
                try ProcessTests.open(directory) { log, runner in
                    Thread.detachNewThread {
                        Thread.sleep(forTimeInterval: Double(milliseconds) / 1_000)
                        kill(getpid(), SIGKILL)
                    }
                    for event in history.arrival(&random) {
                        try log.record([event])
                        try runner.read { _ in }
                    }
                }
            }
            try store.reopen(settled: false)
            try store.touch()
            try store.checkVerifies()
            try store.append(NoteAdded(isbn: "isbn-1", reader: "reader-1", text: "a"))
            try store.checkVerifies()
            store.runner.close()
            store.log.close()
        }
        try store.reopen(settled: true)
        print("\(ProcessTests.kills) processes killed while they folded, \(seed)")
    }
}
