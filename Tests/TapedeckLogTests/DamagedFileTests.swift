import Foundation
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

/// Whichever bytes of the log file are damaged, a call returns the correct result or an error.
///
/// No call crashes or silently returns a wrong result.
@Suite(.serialized, .offTasks) struct DamagedFileTests {
    @Test func damagedFileReturnsCorrectResultsOrErrors() throws {
        let directory = try TemporaryDirectory()
        let seed = Seed.fresh()
        let sample = try DamageSample(directory, seed: seed)
        var outcomes: [String: Int] = [:]
        for number in 0..<Seed.rounds("TAPEDECK_MUTANTS", 100) {
            var random = SeededRandom(seed &+ UInt64(number) &* 1_000_003)
            let (name, bytes) = sample.mutant(&random)
            try sample.write(bytes)
            let outcome = try sample.check("\(name), mutant \(number) of seed \(seed)")
            outcomes["\(name): \(outcome)", default: 0] += 1
        }
        for (name, count) in outcomes.sorted(by: { $0.key < $1.key }) { print(count, name) }
    }

    /// A row or table with a damaged name must not be treated as missing.
    ///
    /// Flips every bit of the table names, of their flags, and of the keys of the log's small rows.
    @Test func damagedNameReturnsCorrectResultsOrErrors() throws {
        let directory = try TemporaryDirectory()
        let seed = Seed.fresh()
        let sample = try DamageSample(directory, seed: seed)
        var outcomes: [String: Int] = [:]
        for (name, places) in sample.names() {
            for (place, bit) in places.flatMap({ place in (0..<8).map { (place, $0) } }) {
                var bytes = sample.bytes
                bytes[place] ^= UInt8(1) << UInt8(bit)
                try sample.write(bytes)
                let outcome = try sample.check("\(name), byte \(place), bit \(bit), seed \(seed)")
                outcomes["\(name): \(outcome)", default: 0] += 1
            }
        }
        for (name, count) in outcomes.sorted(by: { $0.key < $1.key }) { print(count, name) }
        #expect(outcomes.count > 6)
    }
}

/// A store with known contents, and the bytes of its file.
private struct DamageSample {
    let path: String
    let bytes: [UInt8]
    /// The bytes of the file some commits earlier.
    let older: [UInt8]
    let events: [EventEnvelope]
    let receipts: [EventID: [Receipt]]
    let overrides: [StampOverride]

    init(_ directory: TemporaryDirectory, seed: UInt64) throws {
        var random = SeededRandom(seed)
        path = directory.file("store")
        let log = try directory.store()
        let other = try directory.store("other")
        for _ in 0..<30 {
            try log.appendBlocking((0..<20).map { _ in .full(&random, after: []) })
            if random.chance(30) { try log.mergeIndex(keeping: 10, eventsPerRun: 80) }
        }
        log.close()
        older = Array(try Data(contentsOf: URL(fileURLWithPath: path + "/log.mdb")))
        let again = try EventLog(opening: path)
        try other.appendBlocking((0..<100).map { _ in .full(&random, after: []) })
        try other.export(to: directory.file("other.tdx"))
        try again.importEvents(from: directory.file("other.tdx"))
        for _ in 0..<5 {
            try again.appendBlocking((0..<20).map { _ in .full(&random, after: []) })
        }
        try again.recordReceipts((1...40).map { .sample(of: again.origin, $0 * 3) })
        events = try again.allEvents()
        var receipts: [EventID: [Receipt]] = [:]
        for event in events { receipts[event.id] = try again.receipts(of: event.id) }
        self.receipts = receipts
        overrides = try again.read { try again.overrides($0, changedAfter: 0).rows }
        again.close()
        bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path + "/log.mdb")))
    }

    // MARK: - Damage

    func mutant(_ random: inout SeededRandom) -> (name: String, bytes: [UInt8]) {
        var changed = bytes
        let pages = bytes.count / 4_096
        func place(_ range: Range<Int>) -> Int { .random(in: range, using: &random) }
        switch Int.random(in: 0..<10, using: &random) {
        case 0...2:
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                changed[place(0..<bytes.count)] ^= UInt8(1) << UInt8(place(0..<8))
            }
            return ("flipped bits", changed)
        case 3:
            let page = place(0..<pages) * 4_096
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                changed[page + place(0..<40)] ^= UInt8(1) << UInt8(place(0..<8))
            }
            return ("flipped bits of a page's header", changed)
        case 4:
            changed[place(0..<2) * 4_096 + place(0..<160)] ^= UInt8(1) << UInt8(place(0..<8))
            return ("flipped bit of a meta page", changed)
        case 5:
            let count = random.pick([64, 512, 4_096])
            let start = place(0..<bytes.count / count) * count
            for index in start..<min(start + count, bytes.count) { changed[index] = 0 }
            return ("zeros", changed)
        case 6:
            let start = place(0..<bytes.count - 64)
            changed.replaceSubrange(start..<start + 64, with: random.bytes(64))
            return ("noise", changed)
        case 7:
            let (left, right) = (place(0..<pages) * 4_096, place(0..<pages) * 4_096)
            changed.replaceSubrange(left..<left + 4_096, with: bytes[right..<right + 4_096])
            return ("a page copied over another page", changed)
        case 8:
            let page = place(0..<older.count / 4_096) * 4_096
            changed.replaceSubrange(page..<page + 4_096, with: older[page..<page + 4_096])
            return ("a page of an older commit", changed)
        default:
            changed.removeLast(place(1..<bytes.count))
            return ("cut off", changed)
        }
    }

    /// The byte ranges of the table names, of the flags of the tables' roots, and of the keys of
    /// `meta`.
    func names() -> [(name: String, places: Range<Int>)] {
        let second = 4_096
        let newest = number(at: 144, 8) > number(at: second + 144, 8) ? 0 : second
        var found: [(String, Range<Int>)] = []
        for table in keys(ofPage: number(at: newest + 128, 8)) {
            let name = String(decoding: bytes[table], as: UTF8.self)
            let root = table.upperBound
            found.append(("name of \(name)", table))
            found.append(("flags of \(name)", root + 4..<root + 6))
            guard name == "meta", number(at: root + 6, 2) == 1 else { continue }
            for row in keys(ofPage: number(at: root + 40, 8)) {
                found.append(("key of row \(UnicodeScalar(bytes[row.lowerBound]))", row))
            }
        }
        return found
    }

    private func keys(ofPage page: Int) -> [Range<Int>] {
        let start = page * 4_096
        return (0..<(number(at: start + 12, 2) - 16) / 2).map { index in
            let node = start + number(at: start + 16 + 2 * index, 2)
            return node + 8..<node + 8 + number(at: node + 6, 2)
        }
    }

    private func number(at offset: Int, _ count: Int) -> Int {
        bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Writes in place, so that the file keeps its inode.
    func write(_ changed: [UInt8]) throws {
        let file = try #require(FileHandle(forWritingAtPath: path + "/log.mdb"))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: Data(changed))
        try file.close()
    }

    // MARK: - Results

    /// Expects the correct result or a typed error.
    private func answer<R: Equatable>(
        _ expected: R, _ name: String, isRefused: inout Bool, _ body: () throws -> R
    ) {
        do {
            let found = try body()
            if found != expected { Issue.record("wrong answer: \(name)") }
        } catch let error as LogError {
            isRefused = true
            if error.code != .damaged { Issue.record("\(name): \(error)") }
        } catch {
            Issue.record("\(name): \(error)")
        }
    }

    func check(_ name: String) throws -> String {
        let log: EventLog
        do throws(LogError) {
            log = try EventLog(opening: path)
        } catch {
            if error.code != .damaged { Issue.record("\(name): \(error)") }
            return "refused at opening"
        }
        defer { log.close() }
        var isRefused = false
        answer(events, name + ", all", isRefused: &isRefused) { try log.allEvents() }
        for text in ProposedEvent.sampleTags {
            let tag = Tag(unchecked: text)
            answer(
                events.filter { $0.tags.contains(tag) }, name + ", tag \(tag)",
                isRefused: &isRefused
            ) { try log.events(after: .start, limit: 10_000, tag: tag) }
        }
        for type in Set(events.map(\.type)) {
            answer(
                events.filter { $0.type == type }, name + ", type \(type)", isRefused: &isRefused
            ) { try log.events(after: .start, limit: 10_000, type: type) }
        }
        for event in events {
            answer(event, name + ", \(event.id)", isRefused: &isRefused) { try log.event(event.id) }
            answer(receipts[event.id], name + ", receipts", isRefused: &isRefused) {
                try log.receipts(of: event.id)
            }
        }
        answer(overrides, name + ", overrides", isRefused: &isRefused) {
            try log.read { try log.overrides($0, changedAfter: 0).rows }
        }
        let report = try log.verify()
        if isRefused, report.isIntact { Issue.record("\(name): verify found no damage") }
        // Further writes must not crash.
        _ = try? log.appendBlocking([.sample(1)])
        _ = try? log.recordReceipts([.sample(of: log.origin, 1)])
        _ = try? log.mergeIndex()
        return isRefused ? "refused later" : report.isIntact ? "no harm" : "found by verify"
    }
}
