import Foundation
import Synchronization
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

/// A log and its model agree after each random operation: on the appended and refused events, and
/// on the events found by position, id, type and tag.
///
/// They agree in any state of the index, and after reopening.
@Suite(.offTasks) struct LogModelTests {
    @Test(arguments: 0..<3)
    func logAgreesWithItsModel(_ part: Int) throws {
        var world = try World(seed: Seed.fresh() &+ UInt64(part))
        for _ in 0..<Seed.rounds("TAPEDECK_MODEL_STEPS", 120) { try world.step() }
        try world.finish()
    }
}

/// A clock that changes only when a test sets it.
final class ManualTime: Sendable {
    private let held = Atomic<UInt64>(1_000_000)
    var now: UInt64 { held.load(ordering: .relaxed) }

    func move(_ milliseconds: Int) {
        let next = max(0, Int(now) + milliseconds)
        held.store(UInt64(next), ordering: .relaxed)
    }
}

/// A log with its model, and two foreign logs to import from.
private struct World {
    var random: SeededRandom
    let directory: TemporaryDirectory
    let time = ManualTime()
    var log: EventLog
    var model: LogModel
    var foreign: [(log: EventLog, model: LogModel)] = []

    init(seed: UInt64) throws {
        random = SeededRandom(seed)
        directory = try TemporaryDirectory("model")
        // Move the clock past every explicit stamp.
        time.move(2_000_000)
        // Use a small map, so that it has to grow during all kinds of operations.
        var options = EventLog.Options(mapSizeBytes: 1 << 20)
        options.now = { [time] in time.now }
        log = try directory.store("own", options)
        model = LogModel(origin: log.origin)
        for number in 0..<2 {
            let other = try directory.store("foreign\(number)", options)
            foreign.append((other, LogModel(origin: other.origin)))
        }
    }

    mutating func step() throws {
        time.move(.random(in: -20...60, using: &random))
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<35: try append()
        case 35..<50: try appendIfNoEvent()
        case 50..<60: try appendIfNews()
        case 60..<70:
            try log.mergeIndex(
                keeping: .random(in: 0...60, using: &random),
                eventsPerRun: .random(in: 10...200, using: &random))
        case 70..<80: try importForeign()
        case 80..<88: try recordReceipts()
        case 88..<92: try reopen()
        case 92..<96: try compact()
        default: try appendBuffered()
        }
        try compare()
    }

    // MARK: - Operations

    private mutating func proposals() -> [ProposedEvent] {
        (0..<Int.random(in: 1...20, using: &random)).map { _ in
            .full(&random, after: model.ids.suffix(50))
        }
    }

    private mutating func append() throws {
        let events = proposals()
        let appended = try log.appendBlocking(events)
        #expect(appended.firstPosition.rawValue == model.head.rawValue + 1)
        #expect(appended.count == events.count)
        model.append(events, now: time.now)
        #expect(appended.lastID == model.events.last?.id)
    }

    private mutating func appendBuffered() throws {
        let events = proposals()
        try log.appendBuffered(events)
        log.flush()
        model.append(events, now: time.now)
    }

    private mutating func appendIfNoEvent() throws {
        let tags = (0..<Int.random(in: 0...2, using: &random)).map { _ in
            Tag(unchecked: random.pick(ProposedEvent.sampleTags))
        }
        let types: [EventType] = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            random.pick(["PageTurned", "NoteTaken", "x_1", "NeverSeen"])
        }
        let after = LogPosition(
            rawValue: random.chance(60)
                ? model.head.rawValue : .random(in: 0...model.head.rawValue, using: &random))
        let events = proposals()
        try attempt(
            events, .noEvent(with: tags, types: types, after: after),
            isForbidden: model.forbids(tags: tags, types: types, after: after))
    }

    private mutating func appendIfNews() throws {
        let fact = ObservedFact.random(&random)
        let event = ProposedEvent(
            type: "ShowSeen", tags: [Tag(unchecked: "note/1")], fact: fact, payload: [1])
        try attempt([event], .factIsNew(fact), isForbidden: model.knows(fact))
    }

    private mutating func attempt(
        _ events: [ProposedEvent], _ condition: AppendCondition, isForbidden: Bool
    ) throws {
        do throws(LogError) {
            try log.appendBlocking(events, condition: condition)
            #expect(!isForbidden)
            model.append(events, now: time.now)
        } catch {
            #expect(error.code == .conditionFailed && isForbidden)
        }
    }

    private mutating func importForeign() throws {
        let index = Int.random(in: 0...1, using: &random)
        let events = proposals()
        let other = foreign[index].log
        try other.appendBlocking(events)
        foreign[index].model.append(events, now: time.now)
        if random.chance(40), let event = foreign[index].model.events.randomElement(using: &random)
        {
            let receipt = receipt(of: event)
            try other.recordReceipts([receipt])
            foreign[index].model.record(receipt)
        }
        if random.chance(30) {
            // Import through a third store, which mixes the origins.
            let third = 1 - index
            try other.export(to: directory.file("between.tdx"))
            try foreign[third].log.importEvents(from: directory.file("between.tdx"))
            _ = foreign[third].model.importEvents(of: foreign[index].model)
        }
        let path = directory.file("foreign.tdx")
        try other.export(to: path)
        let summary = try log.importEvents(from: path)
        let expected = model.importEvents(of: foreign[index].model)
        #expect(summary.recorded == UInt64(expected.recorded))
        #expect(summary.known == UInt64(expected.known))
    }

    private mutating func receipt(of event: EventEnvelope) -> Receipt {
        let milliseconds = UInt64.random(in: 999_000...1_005_000, using: &random)
        return Receipt(
            event: event.id, lineage: LineageID(high: 0, low: .random(in: 1...3, using: &random)),
            serverPosition: .random(in: 1...100, using: &random),
            receivedAt: Stamp(milliseconds: milliseconds),
            outcome: random.chance(25) ? .refused(.fork) : .accepted)
    }

    private mutating func recordReceipts() throws {
        let chosen = (0..<Int.random(in: 0...10, using: &random)).compactMap { _ in
            model.events.randomElement(using: &random)
        }
        let receipts = chosen.map { receipt(of: $0) }
        try log.recordReceipts(receipts)
        for receipt in receipts { model.record(receipt) }
        #expect(try log.recordReceipts(receipts) == 0)
    }

    /// Returns whether an event may be removed, which depends on the event alone.
    private static func isSuperseded(_ event: EventEnvelope) -> Bool {
        ["PageTurned", "x_1"].contains(event.type) && event.payload.count % 4 != 0
    }

    private mutating func compact() throws {
        let rule = CompactionRule(types: ["PageTurned", "x_1"]) { candidates in
            candidates.map { World.isSuperseded($0.event) }
        }
        let through = LogPosition(
            rawValue: model.head.rawValue
                - .random(in: 0...min(40, model.head.rawValue), using: &random))
        let (report, isDone) = try log.compact(
            rule, through: through, blocksMax: .random(in: 1...20, using: &random), blockCount: 16)
        var gone: UInt64 = 0
        for event in model.held {
            guard let range = try log.compacted(event.id) else { continue }
            gone += 1
            #expect(range.contains(event.id.sequence))
            #expect(World.isSuperseded(event) && event.encoding == .plain)
            #expect(event.position <= through)
            #expect(try log.event(event.id) == nil)
            #expect(try log.event(at: event.position) == nil)
            #expect(try log.compacted(at: event.position)?.sequences == range)
            model.compact(event.id)
        }
        #expect(report.removed == gone)
        let reasons: Set<CompactionReport.Reason> = [.projections, .clock]
        if isDone { #expect(reasons.isSuperset(of: report.waiting.map(\.reason))) }
    }

    private mutating func reopen() throws {
        let options = log.options
        log.close()
        log = try EventLog(opening: directory.file("own"), options: options)
        #expect(log.origin == model.origin)
    }

    // MARK: - Comparing

    private mutating func compare() throws {
        #expect(log.head == model.head)
        let after = LogPosition(rawValue: .random(in: 0...model.head.rawValue + 2, using: &random))
        let limit = Int.random(in: 0...200, using: &random)
        #expect(
            try log.events(after: after, limit: limit)
                == model.events(after: after, limit: limit, type: nil, tag: nil))
        for text in ProposedEvent.sampleTags {
            let tag = Tag(unchecked: text)
            let type: EventType? = random.chance(20) ? "PageTurned" : nil
            #expect(
                try log.events(after: after, limit: limit, type: type, tag: tag)
                    == model.events(after: after, limit: limit, type: type, tag: tag))
        }
        for type in ["PageTurned", "NoteTaken", "Shop.Opened", "x_1", "ShowSeen", "None"]
            as [EventType]
        {
            #expect(
                try log.events(after: after, limit: limit, type: type)
                    == model.events(after: after, limit: limit, type: type, tag: nil))
        }
        for _ in 0..<5 {
            guard let event = model.held.randomElement(using: &random) else { break }
            #expect(try log.event(event.id) == event)
            #expect(try log.event(at: event.position) == event)
        }
        for origin in [model.origin, foreign[0].model.origin, foreign[1].model.origin] {
            let next = EventID(origin: origin, sequence: model.lastSequence(of: origin) + 1)
            #expect(try log.event(next) == nil)
            #expect(try log.event(EventID(origin: origin, sequence: 0)) == nil)
        }
        try compareOverrides()
    }

    private func compareOverrides() throws {
        let rows = try log.read { try log.overrides($0, changedAfter: 0).rows }
        let held = Dictionary(uniqueKeysWithValues: rows.map { ($0.position, $0) })
        for event in model.held {
            let row = held[event.position.rawValue]
            let standing = model.standing(of: event)
            #expect(row?.effectiveStamp ?? event.stamp == standing.effectiveStamp)
            #expect(row?.isRefused ?? false == standing.isRefused)
        }
    }

    func finish() throws {
        let report = try log.verify()
        #expect(report.problems == [])
        #expect(report.events == UInt64(model.held.count))
        #expect(report.compacted == UInt64(model.compacted.count))
        try log.export(to: directory.file("end.tdx"))
        let copy = try directory.store("copy")
        try copy.importEvents(from: directory.file("end.tdx"))
        #expect(try copy.allEvents().map(\.content) == model.held.map(\.content))
        #expect(copy.head == model.head)
        #expect(try copy.verify().problems == [])
        try copy.export(to: directory.file("again.tdx"))
        #expect(
            try log.importEvents(from: directory.file("again.tdx")).recorded == 0,
            "compacted events must be known")
    }
}
