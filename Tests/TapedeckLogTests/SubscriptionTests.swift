import Foundation
@_spi(Core) import TapedeckModel
import Testing

@testable import TapedeckLog

/// Events under a name, each at least once, in the order of the log.
@Suite struct SubscriptionTests {
    private func appended(_ count: Int, in log: EventLog, type: EventType = "NoteTaken") throws {
        try log.appendBlocking(
            (0..<count).map { ProposedEvent(type: type, tags: [], payload: [UInt8($0 % 256)]) })
    }

    private func append(_ tags: [TapedeckModel.Tag], to log: EventLog) throws {
        try log.appendBlocking([ProposedEvent(type: "Seen", tags: tags, payload: [])])
    }

    private func damage(_ position: UInt64, in log: EventLog) throws {
        try log.write { transaction in
            let held = try transaction.get(log.tables.events, integer: position)
            guard var bytes = held.map({ Array($0) }) else { return }
            bytes[bytes.count - 1] ^= 1
            try transaction.put(log.tables.events, integer: position, bytes)
        }
    }

    private func subscribe(
        _ log: EventLog, _ name: String = "mails", from start: SubscriptionStart = .beginning,
        types: [EventType] = [], tags: [TapedeckModel.Tag] = []
    ) throws -> LogSubscription {
        try log.subscribe(named: name, from: start, EventFilter(tags: tags, types: types))
    }

    private func statuses(_ log: EventLog) throws -> [String: UInt64?] {
        Dictionary(
            uniqueKeysWithValues: try log.subscriptionStatuses().map {
                ($0.name, $0.acknowledged?.rawValue)
            })
    }

    private func remove(_ name: String, _ log: EventLog) throws {
        try log.removeSubscription(named: name)
    }

    private func positions(
        _ subscription: LogSubscription, _ count: Int, after place: LogSubscription.Place? = nil
    ) async throws -> [UInt64] {
        try await read(subscription, count, after: place).positions
    }

    /// Reads until there are so many, or the end of the subscription.
    private func read(
        _ subscription: LogSubscription, _ count: Int, after start: LogSubscription.Place? = nil
    ) async throws -> (positions: [UInt64], place: LogSubscription.Place?) {
        var (place, found) = (start, [UInt64]())
        while found.count < count, let delivery = try await subscription.next(after: place) {
            found += delivery.events.map(\.position.rawValue)
            place = delivery.place
        }
        return (found, place)
    }

    private func acknowledge(_ position: UInt64, _ subscription: LogSubscription) async throws {
        let event = try event(position, in: subscription.log)
        try await subscription.acknowledge(through: try #require(event))
    }

    private func event(_ position: UInt64, in log: EventLog) throws -> EventEnvelope? {
        try log.event(at: LogPosition(rawValue: position))
    }

    // MARK: - Delivery

    @Test(.timeLimit(.minutes(5))) func everythingComesInTheOrderOfTheLog() async throws {
        let log = try TemporaryDirectory().store()
        try appended(2_500, in: log)
        let mails = try subscribe(log)
        #expect(try await positions(mails, 2_500) == Array(1...2_500))
        log.close()
    }

    @Test(.timeLimit(.minutes(5))) func whatWasNotAcknowledgedComesAgain() async throws {
        let directory = try TemporaryDirectory()
        var log = try directory.store()
        try appended(10, in: log)
        let mails = try subscribe(log)
        #expect(try await positions(mails, 10).count == 10)
        try await acknowledge(4, mails)
        try await acknowledge(2, mails)
        // To the next loop, and to whoever subscribes after a restart.
        #expect(try await positions(mails, 6) == Array(5...10))
        log.close()
        log = try EventLog(opening: directory.file("store"))
        let again = try subscribe(log)
        #expect(try await positions(again, 6) == Array(5...10))
        try await acknowledge(10, again)
        again.close()
        try appended(1, in: log)
        #expect(try await positions(try subscribe(log), 1) == [11])
        log.close()
    }

    @Test(.timeLimit(.minutes(5))) func aSubscriptionFromNowBeginsBehindTheEnd() async throws {
        let log = try TemporaryDirectory().store()
        try appended(700, in: log)
        try log.appendBuffered([.sample(1)])
        let mails = try subscribe(log, from: .now)
        try appended(2, in: log)
        #expect(try await positions(mails, 2) == [702, 703])
        mails.close()
        // Where it begins is settled when it is made.
        #expect(try await positions(try subscribe(log, from: .now), 2) == [702, 703])
        log.close()
    }

    /// Events that do not fit are passed, and are done with when all before them are.
    @Test(.timeLimit(.minutes(5))) func aFilterPassesOverTheRestAndTheCheckpointGoesOn()
        async throws
    {
        let log = try TemporaryDirectory().store()
        for _ in 0..<3 {
            try appended(3_000, in: log)
            try appended(1, in: log, type: "Rare")
        }
        try appended(3_000, in: log)
        let mails = try subscribe(log, types: ["Rare", "NeverSeen"])
        let (found, place) = try await read(mails, 3)
        #expect(found == [3_001, 6_002, 9_003])
        try await acknowledge(6_002, mails)
        #expect(try statuses(log)["mails"] == 6_002)
        try await acknowledge(9_003, mails)
        #expect(try statuses(log)["mails"] == 9_003 || statuses(log)["mails"] == 12_003)
        // Nothing came, and yet it is as far as the log.
        let waiting = Task { try await positions(mails, 1, after: place) }
        try await eventually { try statuses(log)["mails"] == 12_003 }
        try appended(1, in: log, type: "Rare")
        #expect(try await waiting.value == [12_004])
        log.close()
    }

    @Test(.timeLimit(.minutes(5))) func allTagsHaveToFit() async throws {
        let log = try TemporaryDirectory().store()
        let (one, two) = (Tag(unchecked: "a/1"), Tag(unchecked: "a/2"))
        for tags in [[one], [two], [one, two], [], [two, one]] {
            try append(tags, to: log)
        }
        #expect(try await positions(try subscribe(log, tags: [one, two]), 2) == [3, 5])
        log.close()
    }

    @Test(.timeLimit(.minutes(5))) func whatIsAcknowledgedAheadIsLeftOut() async throws {
        let log = try TemporaryDirectory().store()
        try appended(1_000, in: log)
        let mails = try subscribe(log)
        let first = try #require(try await mails.next(after: nil))
        try await acknowledge(998, mails)
        #expect(try await positions(mails, 2, after: first.place) == [999, 1_000])
        // What the log does not hold acknowledges nothing.
        var other = try #require(try event(999, in: log))
        other.stamp = Stamp(milliseconds: 1)
        let error = await #expect(throws: LogError.self) {
            try await mails.acknowledge(through: other)
        }
        #expect(error?.code == .notFound)
        #expect(try statuses(log)["mails"] == 998)
        log.close()
    }

    // MARK: - Waiting

    @Test(.timeLimit(.minutes(5))) func itWakesForThisProcessAndForOthers() async throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        let mails = try subscribe(log)
        let waiting = Task { try await positions(mails, 1) }
        try await Task.sleep(for: .milliseconds(20))
        try appended(1, in: log)
        #expect(try await waiting.value == [1])
        try await acknowledge(1, mails)
        let other = Task { try await positions(mails, 30) }
        let child = try ChildProcess(directory.file("store"), seed: 3, "30")
        #expect(try await other.value == Array(2...31))
        #expect(try child.finish().isDone)
        log.close()
    }

    @Test(.timeLimit(.minutes(5))) func closingAndCancellingEndALoop() async throws {
        let log = try TemporaryDirectory().store()
        try appended(1, in: log)
        let mails = try subscribe(log)
        let cancelled = Task { try await positions(mails, 2) }
        try await Task.sleep(for: .milliseconds(20))
        cancelled.cancel()
        #expect(try await cancelled.value == [1])
        let closed = Task { try await positions(mails, 2) }
        try await Task.sleep(for: .milliseconds(20))
        mails.close()
        mails.close()
        #expect(try await closed.value == [1])
        let first = try #require(try event(1, in: log))
        let error = await #expect(throws: LogError.self) {
            try await mails.acknowledge(through: first)
        }
        #expect(error?.code == .closed)
        let again = try subscribe(log)
        let ended = Task { try await positions(again, 2) }
        try await Task.sleep(for: .milliseconds(20))
        log.close()
        #expect(try await ended.value == [1])
        #expect(try await positions(again, 2).isEmpty)
    }

    @Test(.timeLimit(.minutes(5))) func nothingIsLeftOfOneThatWasLetGoOf() async throws {
        let log = try TemporaryDirectory().store()
        try appended(3, in: log)
        weak var left: LogSubscription?
        do {
            let mails = try subscribe(log)
            left = mails
            #expect(try await positions(mails, 3) == [1, 2, 3])
            try await acknowledge(3, mails)
        }
        try await eventually { left == nil }
        #expect(log.observers.withLock { $0.isEmpty })
        // Its name is free, too.
        let again = try subscribe(log)
        #expect(try statuses(log) == ["mails": 3])
        again.close()
        log.close()
    }

    @Test(.timeLimit(.minutes(5))) func aSuspendedStoreKeepsLoopsWaiting() async throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try appended(3, in: log)
        let mails = try subscribe(log)
        let (_, place) = try await read(mails, 3)
        let waiting = Task { try await positions(mails, 1, after: place) }
        log.suspend()
        // Kept in memory until it may be written.
        try await acknowledge(2, mails)
        #expect(try statuses(log)["mails"] == 0)
        log.resume()
        #expect(try statuses(log)["mails"] == 2)
        try appended(1, in: log)
        #expect(try await waiting.value == [4])
        log.close()
    }

    // MARK: - Two at once

    @Test(.timeLimit(.minutes(5))) func oneSubscriberAtATimeHasAName() async throws {
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

    /// Whoever is suspended lets others go on, and is told when it wakes up.
    @Test(.timeLimit(.minutes(5))) func anotherProcessMayTakeTheNameOfOneThatIsSuspended()
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
        #expect(try await positions(try subscribe(log, "child"), 1) == [10])
        log.close()
    }

    // MARK: - Crashes

    /// A child prints what it gets and what it has acknowledged, and is killed anywhere.
    ///
    /// The next one goes on behind that: nothing is left out, and what was acknowledged does not come again.
    @Test(.timeLimit(.minutes(5))) func aKilledSubscriberGoesOnBehindWhatItAcknowledged()
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

    // MARK: - Logs that were put back

    /// The log's file is replaced by a copy of an earlier state, then goes on with other events.
    @Test(
        .timeLimit(.minutes(5)), arguments: [SubscriptionStart.beginning, .now], [0, 5, 40, 400])
    func aLogThatWasPutBackIsDeliveredFromWhereItIsStillTheSame(
        start: SubscriptionStart, lost: Int
    ) async throws {
        let directory = try TemporaryDirectory()
        var log = try directory.store()
        try appended(300, in: log)
        log.close()
        let copy = try Data(contentsOf: URL(fileURLWithPath: directory.file("store/log.mdb")))
        log = try EventLog(opening: directory.file("store"))
        try appended(lost, orNone: log)
        var mails = try subscribe(log, from: start)
        try appended(20, in: log)
        let head = log.head.rawValue
        let first = start == .now ? UInt64(300 + lost + 1) : 1
        var place: LogSubscription.Place?
        for position in first...head {
            if place == nil || position % 256 == 0 {
                place = try await mails.next(after: place)?.place
            }
            try await acknowledge(position, mails)
        }
        log.close()
        try copy.write(to: URL(fileURLWithPath: directory.file("store/log.mdb")))

        log = try EventLog(opening: directory.file("store"))
        try appended(200, in: log, type: "After")
        mails = try subscribe(log, from: start)
        var found: [UInt64] = []
        while found.last != 500, let delivery = try await mails.next(after: nil) {
            found += delivery.events.map(\.position.rawValue)
            if let last = delivery.events.last { try await mails.acknowledge(through: last) }
        }
        let from = try #require(found.first)
        // Nothing new is left out, and not very much comes again.
        #expect(from <= 301)
        #expect(found == Array(from...500))
        #expect(301 - from <= UInt64(2 * (lost + 20)), "\(lost): began at \(from)")
        log.close()
    }

    /// As above, with the store open and a loop waiting: the copy is written over the file.
    ///
    /// LMDB may take it for a commit earlier than it was, so the head is asked.
    @Test(.timeLimit(.minutes(5))) func aLogThatIsPutBackUnderAnOpenStoreIsNoticed() async throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try appended(300, in: log)
        let path = directory.file("store/log.mdb")
        let copy = try Data(contentsOf: URL(fileURLWithPath: path))
        try appended(20, in: log)
        let mails = try subscribe(log)
        let (_, last) = try await read(mails, 320)
        let gone = try #require(try event(320, in: log))
        try await acknowledge(310, mails)
        let waiting = Task { try await read(mails, 1, after: last) }
        try await Task.sleep(for: .milliseconds(20))

        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: copy)
        try file.close()
        try appended(9, in: log, type: "After")
        var (found, place) = try await waiting.value
        let head = log.head.rawValue
        #expect(head < 320)
        let error = await #expect(throws: LogError.self) {
            try await mails.acknowledge(through: gone)
        }
        #expect(error?.code == .notFound)
        while found.last != head {
            let more = try await read(mails, 1, after: place)
            found += more.positions
            place = more.place
        }
        #expect(found == Array(1...head))
        log.close()
    }

    private func appended(_ count: Int, orNone log: EventLog) throws {
        if count > 0 { try appended(count, in: log) }
    }

    @Test func marksThinOutTheLongerAgoTheyAre() {
        var random = SeededRandom(Seed.fresh())
        var marks = SubscriptionMarks([.start])
        var position: UInt64 = 0
        var passed: Set<UInt64> = [0]
        for _ in 0..<3_000 {
            position += random.chance(2) ? .random(in: 1...100_000, using: &random) : 1
            passed.insert(position)
            marks.add(SubscriptionMark(position: position, checksum: 1, history: .start))
            let held = marks.all.map(\.position)
            #expect(held.first == position && held.last == 0)
            #expect(held == held.sorted(by: >) && held.count <= SubscriptionMarks.countMax)
        }
        // However far the log is put back, the mark before that is at most twice as far away.
        for lost in passed where lost < position {
            let held = marks.all.map(\.position).first { $0 <= lost } ?? .max
            let nearest = passed.filter { $0 <= lost }.max() ?? 0
            #expect(position - held <= 4 * (position - nearest), "\(lost)")
        }
    }

    // MARK: - Files

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

    @Test(.timeLimit(.minutes(5))) func aSlotThatWasCutOffLeavesTheOneBefore() async throws {
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
        // Three were written: of the beginning, of 4, of 7; the third into the second half.
        var cut = whole
        cut[size + 20] ^= 1
        try cut.write(to: URL(fileURLWithPath: path))
        #expect(try statuses(log)["mails"] == 4)
        #expect(try await positions(try subscribe(log), 5) == Array(5...9))
        cut[20] ^= 1
        try cut.write(to: URL(fileURLWithPath: path))
        #expect(try statuses(log) == ["mails": nil])
        let error = #expect(throws: LogError.self) { try subscribe(log) }
        #expect(error?.code == .damaged && error?.hint != nil)
        try remove("mails", log)
        #expect(try await positions(try subscribe(log), 9) == Array(1...9))
        log.close()
    }

    /// Intact events before a damaged one are delivered; then the damage is told.
    @Test(.timeLimit(.minutes(5))) func aDamagedEventStopsDeliveryAtItsPlace() async throws {
        let log = try TemporaryDirectory().store()
        try appended(9, in: log)
        try damage(6, in: log)
        let mails = try subscribe(log)
        let (found, place) = try await read(mails, 5)
        #expect(found == Array(1...5))
        let error = await #expect(throws: LogError.self) { try await mails.next(after: place) }
        #expect(error?.code == .damaged && error?.position?.rawValue == 6)
        log.close()
    }
}

/// Waits until something is so.
private func eventually(_ condition: () throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while try !condition() {
        guard .now < end else { throw CancellationError() }
        try await Task.sleep(for: .milliseconds(5))
    }
}
