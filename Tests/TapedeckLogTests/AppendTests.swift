import Foundation
import TapedeckLog
@_spi(Core) import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct AppendTests {
    @Test func appendedEventsGetConsecutivePositions() throws {
        let log = try TemporaryDirectory().store()
        let first = try log.appendBlocking([.sample(1), .sample(2)])
        let second = try log.appendBlocking([.sample(3)])
        #expect(first.firstID == EventID(origin: log.origin, sequence: 1))
        #expect(first.lastID == EventID(origin: log.origin, sequence: 2))
        #expect(first.lastPosition.rawValue == 2)
        #expect(second.firstID.sequence == 3)
        #expect(log.head.rawValue == 3)
    }

    @Test func eventsAreReadBackUnchanged() throws {
        let log = try TemporaryDirectory().store()
        var event = ProposedEvent(
            type: "NoteTaken", schemaVersion: 7, tags: [try Tag("note/é"), try Tag("user/1")],
            fact: ObservedFact(entity: "show/1", content: [1], version: 9, observedAt: -5),
            atMilliseconds: 123, retention: .latest, encoding: .sealed, payload: [0, 1, 255])
        event.causation = EventID(origin: OriginID(high: 1, low: 2), sequence: 3)
        event.correlation = EventID(origin: OriginID(high: 4, low: 5), sequence: 6)
        let id = try log.appendBlocking([event]).firstID
        let read = try #require(try log.event(id))
        #expect(
            read == event.envelope(id, LogPosition(rawValue: 1), Stamp(milliseconds: 123)))
    }

    struct Refusal: CustomTestStringConvertible {
        var testDescription: String
        var code: ErrorCode
        var event: ProposedEvent
    }

    static let refusals: [Refusal] = [
        Refusal(
            testDescription: "payload over the limit", code: .tooLarge,
            event: .sample(1, payload: RecordLayout.payloadCountMax + 1)),
        Refusal(
            testDescription: "too many tags", code: .invalidTag,
            event: ProposedEvent(
                type: "A", tags: (0...RecordLayout.tagsMax).map { Tag(unchecked: "n/\($0)") },
                payload: [])),
        Refusal(
            testDescription: "type with a space", code: .invalidType,
            event: ProposedEvent(type: "Note taken", tags: [], payload: [])),
        Refusal(
            testDescription: "type without a name", code: .invalidType,
            event: ProposedEvent(type: "", tags: [], payload: [])),
        Refusal(
            testDescription: "time after the end", code: .invalidTime,
            event: ProposedEvent(
                type: "A", tags: [], atMilliseconds: Stamp.millisecondsMax + 1, payload: [])),
    ]

    @Test(arguments: refusals) func invalidEventIsRefused(_ refusal: Refusal) throws {
        let log = try TemporaryDirectory().store()
        let error = #expect(throws: LogError.self) {
            try log.appendBlocking([.sample(1), refusal.event])
        }
        #expect(error?.code == refusal.code)
        #expect(log.head == .start)
    }

    @Test func emptyOrOversizedAppendIsRefused() throws {
        let log = try TemporaryDirectory().store()
        #expect(throws: LogError.self) { try log.appendBlocking([]) }
        let many = [ProposedEvent](repeating: .sample(1), count: EventLog.eventsPerAppendMax + 1)
        #expect(throws: LogError.self) { try log.appendBlocking(many) }
    }

    @Test func largestEventIsRecorded() throws {
        let log = try TemporaryDirectory().store()
        let name = String(repeating: "n", count: Tag.lengthMax - 2)
        let event = ProposedEvent(
            type: EventType(stringLiteral: String(repeating: "T", count: EventType.lengthMax)),
            tags: (0..<RecordLayout.tagsMax).map { _ in Tag(unchecked: "t/" + name) },
            payload: [UInt8](repeating: 1, count: RecordLayout.payloadCountMax))
        let id = try log.appendBlocking([event]).firstID
        #expect(try log.event(id)?.payload.count == RecordLayout.payloadCountMax)
        #expect(try log.verify().problems == [])
    }

    @Test func stampsIncreaseWhenTheSystemClockGoesBack() throws {
        let time = ManualTime()
        let directory = try TemporaryDirectory()
        var options = EventLog.Options()
        options.now = { time.now }
        var log = try directory.store("store", options)
        var last = Stamp.zero
        for round in 0..<20 {
            time.move(round % 3 == 0 ? -500 : 40)
            if round == 10 {
                log.close()
                log = try EventLog(opening: directory.file("store"), options: options)
            }
            let id = try log.appendBlocking([.sample(round)]).firstID
            let stamp = try #require(try log.event(id)).stamp
            #expect(last < stamp)
            last = stamp
        }
    }

    @Test func explicitStampDoesNotMoveTheClock() throws {
        let time = ManualTime()
        var options = EventLog.Options()
        options.now = { time.now }
        let log = try TemporaryDirectory().store("store", options)
        var far = ProposedEvent.sample(1)
        far.atMilliseconds = Stamp.millisecondsMax
        try log.appendBlocking([far, .sample(2)])
        #expect(try log.event(at: LogPosition(rawValue: 2))?.stamp.milliseconds == time.now)
    }

    @Test func readingPastTheEndFindsNothing() throws {
        let log = try TemporaryDirectory().store()
        #expect(try log.event(EventID(origin: log.origin, sequence: 1)) == nil)
        try log.appendBlocking([.sample(1)])
        let end = LogPosition(rawValue: .max)
        #expect(try log.events(after: end) == [])
        #expect(try log.events(after: end, tag: Tag("note/1")) == [])
        #expect(try log.events(after: LogPosition(rawValue: .max - 1), limit: 10) == [])
        #expect(try log.events(after: .start, limit: -1) == [])
        #expect(try log.event(at: end) == nil)
        #expect(try log.event(EventID(origin: log.origin, sequence: .max)) == nil)
        #expect(try log.event(EventID(origin: .random(), sequence: 1)) == nil)
    }
}
