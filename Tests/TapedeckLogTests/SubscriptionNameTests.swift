import Foundation
@_spi(Core) import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckLog

/// A name has one subscriber at a time, even if processes die; names are listed and removed.
@Suite(.offTasks) struct SubscriptionNameTests: SubscriptionSuite {
    @Test func nameHasOneSubscriberAtATime() async throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try appended(2, in: log)
        func isBusy(_ name: String) -> Bool {
            do throws(LogError) {
                try log.subscribe(named: name, from: .now, EventFilter()).close()
                return false
            } catch {
                return error.code == .busy && error.hint != nil
            }
        }
        let mails = try subscribe(log)
        #expect(isBusy("mails"))
        #expect(!isBusy("search"))
        let removing = #expect(throws: LogError.self) { try remove("mails", log) }
        #expect(removing?.code == .busy)
        mails.close()
        #expect(!isBusy("mails"))

        let child = try ChildProcess(directory.file("store"), seed: 1, "subscribing")
        child.waitUntilOpen()
        #expect(isBusy("child"))
        child.kill()
        _ = try child.finish()
        #expect(!isBusy("child"))
        log.close()
    }

    /// A suspended subscriber loses its name to another process, and notices the loss when it
    /// resumes.
    @Test func anotherProcessMayTakeTheNameOfASuspendedSubscriber()
        async throws
    {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try appended(9, in: log)
        let mine = try subscribe(log, "child")
        let (_, place) = try await read(mine, 9)
        log.suspend()
        let child = try ChildProcess(directory.file("store"), seed: 1, "subscribing")
        child.waitUntilOpen()
        try await eventually { try statuses(log)["child"] == 9 }
        log.resume()
        let error = await #expect(throws: LogError.self) { try await mine.next(after: place) }
        #expect(error?.code == .busy)
        log.suspend()
        child.kill()
        _ = try child.finish()
        log.resume()
        mine.close()
        try appended(1, in: log)
        #expect(try await lastPositions(try subscribe(log, "child"), 1) == [10])
        log.close()
    }

    /// A child process prints the events that it receives and acknowledges, and is killed at any
    /// point.
    ///
    /// The next child continues after the acknowledged events: no event is skipped, and
    /// acknowledged events are not delivered again.
    @Test func killedSubscriberResumesAfterAcknowledgedEvents()
        async throws
    {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        var random = SeededRandom(Seed.fresh())
        var (acknowledged, delivered) = (UInt64(0), UInt64(0))
        for round in 0..<12 {
            let child = try ChildProcess(directory.file("store"), seed: 1, "subscribing")
            child.waitUntilOpen()
            for _ in 0..<20 {
                try appended(Int.random(in: 1...30, using: &random), in: log)
                usleep(.random(in: 0...2_000, using: &random))
            }
            child.kill()
            let lines = try child.finish().lines
            let got = lines.filter { $0.hasPrefix("got ") }.compactMap { UInt64($0.dropFirst(4)) }
            if let first = got.first, let last = got.last {
                #expect(got == Array(first...last), "round \(round)")
                #expect(first > acknowledged && first <= delivered + 1, "round \(round)")
                delivered = max(delivered, last)
            }
            let done = lines.filter { $0.hasPrefix("ack ") }.compactMap { UInt64($0.dropFirst(4)) }
            acknowledged = max(acknowledged, done.max() ?? 0)
        }
        #expect(delivered > 0 && acknowledged > 0)
        log.close()
    }

    @Test func subscriptionsAreListedAndRemoved() throws {
        let directory = try TemporaryDirectory()
        var log = try directory.store()
        #expect(try statuses(log).isEmpty)
        try appended(3, in: log)
        try subscribe(log, "b").close()
        try subscribe(log, "a.b-c_1", from: .now).close()
        #expect(try log.subscriptionStatuses().map(\.name) == ["a.b-c_1", "b"])
        #expect(try statuses(log) == ["b": 0, "a.b-c_1": 3])
        try remove("b", log)
        #expect(throws: LogError.self) { try remove("b", log) }
        #expect(try statuses(log) == ["a.b-c_1": 3])
        for name in ["", "A", "a/b", "..", ".a", "a b", "ä", String(repeating: "a", count: 65)] {
            let error = #expect(throws: LogError.self) { try subscribe(log, name) }
            #expect(error?.code == .usage, "\(name)")
        }
        log.close()
        log = try EventLog(
            opening: directory.file("store"), options: .init(isReadOnly: true))
        let error = #expect(throws: LogError.self) { try subscribe(log, "c") }
        #expect(error?.code == .readOnly)
        #expect(try statuses(log) == ["a.b-c_1": 3])
        log.close()
        try EventLog.erase(directory.file("store"))
        #expect(!FileManager.default.fileExists(atPath: directory.file("store")))
    }

    /// Opening a pipe for reading waits for a writer.
    @Test func pipeInPlaceOfASubscriptionIsAnError() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        defer { log.close() }
        try subscribe(log, "a").close()
        let path = directory.file("store/subscriptions/a")
        try FileManager.default.removeItem(atPath: path)
        try #require(mkfifo(path, 0o600) == 0)
        #expect(throws: LogError.self) { try statuses(log) }
        let error = #expect(throws: LogError.self) { try subscribe(log, "a") }
        #expect(error?.code == .damaged)
    }

    @Test func damagedSlotFallsBackToThePreviousOne() async throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try appended(9, in: log)
        let mails = try subscribe(log)
        try await acknowledge(4, mails)
        try await acknowledge(7, mails)
        mails.close()
        let path = directory.file("store/subscriptions/mails")
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let size = SubscriptionMarks.slotCount
        #expect(whole.count == 2 * size)
        // Three checkpoints were written: for the beginning, for position 4 and for position 7. The
        // third checkpoint is in the second half of the file.
        var cut = whole
        cut[size + 20] ^= 1
        try cut.write(to: URL(fileURLWithPath: path))
        #expect(try statuses(log)["mails"] == 4)
        #expect(try await lastPositions(try subscribe(log), 5) == Array(5...9))
        cut[20] ^= 1
        try cut.write(to: URL(fileURLWithPath: path))
        #expect(try statuses(log) == ["mails": nil])
        let error = #expect(throws: LogError.self) { try subscribe(log) }
        #expect(error?.code == .damaged && error?.hint != nil)
        try remove("mails", log)
        #expect(try await lastPositions(try subscribe(log), 9) == Array(1...9))
        log.close()
    }
}
