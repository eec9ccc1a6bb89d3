import Foundation
import Synchronization
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct GroupCommitTests {
    @Test func concurrentCallersShareCommits() async throws {
        let log = try TemporaryDirectory().store()
        let before = log.environment.facts().lastTransaction
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<100 {
                group.addTask {
                    for number in 0..<5 {
                        let appended = try await log.append([.sample(caller), .sample(number)])
                        let id = try #require(appended).lastID
                        // Acknowledged events can be read and have the tags that the caller has
                        // set.
                        #expect(try read(log, id)?.tags == ProposedEvent.sample(number).tags)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(log.head.rawValue == 1_000)
        let commits = log.environment.facts().lastTransaction - before
        print("500 appends in \(commits) commits")
        #expect(commits < 500)
        log.close()
    }

    @Test func conditionSeesEarlierAppendsOfTheSameCommit() throws {
        let log = try TemporaryDirectory().store()
        let tag = try Tag("seat/1")
        let seat = ProposedEvent(type: "SeatTaken", tags: [tag], payload: [])
        let fact = ObservedFact(entity: "show/1", content: [1], version: 1, observedAt: nil)
        let seen = ProposedEvent(type: "ShowSeen", tags: [], fact: fact, payload: [])
        let free = AppendCondition.noEvent(with: [tag], after: .start)
        let requests: [(ProposedEvent, AppendCondition?)] = [
            (.sample(1), nil), (seat, free), (seat, free), (.sample(2), nil),
            (seen, .factIsNew(fact)), (seen, .factIsNew(fact)), (.sample(3), free),
        ]
        let codes = Mutex<[Int: ErrorCode]>([:])
        let done = DispatchGroup()
        // While this transaction holds the writer's lock, the requests queue up after the first
        // one.
        try log.environment.write { _ in
            for (number, (event, condition)) in requests.enumerated() {
                done.enter()
                let request = AppendRequest([event], condition, isBuffered: false) { result in
                    codes.withLock {
                        if case .failure(let error) = result { $0[number] = error.code }
                    }
                    done.leave()
                }
                try log.queue.add(request, drain: { log.drain() })
                if number == 0 { usleep(50_000) }
            }
        }
        done.wait()
        #expect(codes.withLock { $0.keys.sorted() } == [2, 5, 6])
        #expect(codes.withLock { $0.values.allSatisfy { $0 == .conditionFailed } })
        #expect(log.head.rawValue == 4)
        #expect(
            try log.allEvents().map(\.type) == ["NoteTaken", "SeatTaken", "NoteTaken", "ShowSeen"])
        #expect(try log.verify().problems == [])
    }

    @Test func onlyOneCallerGetsEachSeat() async throws {
        let log = try TemporaryDirectory().store()
        let won = await withTaskGroup(of: Int?.self) { group in
            for caller in 0..<120 { group.addTask { await takeSeat(caller % 10, in: log) } }
            return await group.reduce(into: [Int]()) { if let seat = $1 { $0.append(seat) } }
        }
        #expect(won.sorted() == Array(0..<10))
        #expect(log.head.rawValue == 10)
        log.close()
    }

    @Test func factIsNewOnlyIfItsContentChanged() throws {
        let log = try TemporaryDirectory().store()
        func observe(_ content: UInt8, at time: Int64) -> Bool {
            let fact = ObservedFact(
                entity: "show/1", content: [content], version: 0, observedAt: time)
            let event = ProposedEvent(type: "ShowSeen", tags: [], fact: fact, payload: [content])
            return (try? log.appendBlocking([event], condition: .factIsNew(fact))) != nil
        }
        #expect(
            [observe(1, at: 1), observe(1, at: 2), observe(2, at: 3), observe(1, at: 4)]
                == [true, false, true, true])
        #expect(!observe(2, at: 2))
    }
}

private func read(_ log: EventLog, _ id: EventID) throws -> EventEnvelope? { try log.event(id) }

/// Takes a seat and returns its number; returns nil if the seat is already taken.
private func takeSeat(_ seat: Int, in log: EventLog) async -> Int? {
    let tag = Tag(unchecked: "seat/\(seat)")
    let event = ProposedEvent(type: "SeatTaken", tags: [tag], payload: [])
    do throws(LogError) {
        try await log.append([event], condition: .noEvent(with: [tag], after: .start))
        return seat
    } catch {
        #expect(error.code == .conditionFailed)
        return nil
    }
}
