import Foundation
@_spi(Core) import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckLog

/// Waiting for events, and the ways in which waiting ends.
@Suite(.offTasks) struct SubscriptionWaitTests: SubscriptionSuite {
    @Test func subscriptionWakesForEventsFromAnyProcess() async throws {
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

    @Test func closingOrCancellingEndsALoop() async throws {
        let log = try TemporaryDirectory().store()
        try appended(1, in: log)
        let mails = try subscribe(log)
        let (found, place) = try await read(mails, 1)
        #expect(found == [1])
        let cancelled = Task { try await positions(mails, 1, after: place) }
        try await Task.sleep(for: .milliseconds(20))
        cancelled.cancel()
        #expect(try await cancelled.value.isEmpty)
        let closed = Task { try await positions(mails, 1, after: place) }
        try await Task.sleep(for: .milliseconds(20))
        mails.close()
        mails.close()
        #expect(try await closed.value.isEmpty)
        let first = try #require(try event(1, in: log))
        let error = await #expect(throws: LogError.self) {
            try await mails.acknowledge(through: first)
        }
        #expect(error?.code == .closed)
        let again = try subscribe(log)
        let (repeated, last) = try await read(again, 1)
        #expect(repeated == [1])
        let ended = Task { try await positions(again, 1, after: last) }
        try await Task.sleep(for: .milliseconds(20))
        log.close()
        #expect(try await ended.value.isEmpty)
        #expect(try await positions(again, 2).isEmpty)
    }

    @Test func releasedSubscriptionIsDeallocated() async throws {
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
        // The name of the subscription can be used again.
        let again = try subscribe(log)
        #expect(try statuses(log) == ["mails": 3])
        again.close()
        log.close()
    }

    @Test func suspendedStoreKeepsLoopsWaiting() async throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try appended(3, in: log)
        let mails = try subscribe(log)
        let (_, place) = try await read(mails, 3)
        let waiting = Task { try await positions(mails, 1, after: place) }
        log.suspend()
        // The acknowledgement is kept in memory until the log may be written again.
        try await acknowledge(2, mails)
        #expect(try statuses(log)["mails"] == 0)
        log.resume()
        #expect(try statuses(log)["mails"] == 2)
        try appended(1, in: log)
        #expect(try await waiting.value == [4])
        log.close()
    }
}
