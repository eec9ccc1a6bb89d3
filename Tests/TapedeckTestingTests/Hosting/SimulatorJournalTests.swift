import Foundation
import Synchronization
import Testing

@testable import TapedeckTesting

/// A simulator that is killed and recreated with its journal continues where it stopped.
struct SimulatorJournalTests {
    /// A file that is removed after the test.
    private final class Place {
        let path = NSTemporaryDirectory() + "journal-\(UUID().uuidString)"

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func open() throws -> SimulatorJournal {
            try SimulatorJournal(
                path,
                beginning: .init(system: "shelby", seed: 7, isAdverse: true, time: Moments.start))
        }

        func append(_ text: String) throws {
            let file = try #require(FileHandle(forWritingAtPath: path))
            try file.seekToEnd()
            try file.write(contentsOf: Data(text.utf8))
            try file.close()
        }
    }

    /// A clock that advances by 700 ms each time it is read.
    private final class Steps: Sendable {
        private let time = Mutex(Moments.start)

        func next() -> Int64 {
            time.withLock { time in
                time += 700
                return time
            }
        }
    }

    private static func simulator() -> ShelbySimulator {
        ShelbySimulator(seed: 7, at: Moments.start, adversary: .harsh)
    }

    private static let broadcasts = simulator().v2.world.broadcasts.prefix(5).map(\.id)

    /// Requests of every kind; the adversary prevents some of them from taking effect.
    private static let requests: [SimulatedRequest] = (0..<140).map { number in
        let id = broadcasts[number % broadcasts.count]
        func sent(
            _ method: String, _ path: String, _ form: KeyValuePairs<String, String>? = nil
        ) -> SimulatedRequest {
            SimulatedRequest(method, path, headers: [:], form: form).signed(
                (SimulatorAccount.oauthToken, SimulatorAccount.oauthSecret), at: Moments.start,
                nonce: String(number))
        }
        let broadcast = "/v2/broadcasts/\(id).json"
        return switch number % 7 {
        case 0: sent("GET", "/v2/users.json")
        case 1, 2: sent("PUT", broadcast, ["liked_by_owner": "true"])
        case 3: sent("POST", "/_simulator/advance?ms=\(number * 10)")
        case 4: sent("GET", "/_simulator/effects")
        case 5: sent("GET", "/v2/nothing?a=%20ü")
        default:
            sent(
                "POST", "/v2/socializations.json",
                ["destination": "twitter", "broadcast_id": id, "comment": "\(number) & ü"])
        }
    }

    /// Returns the answers to all requests from a succession of simulators that share one journal.
    private func answers(killedEvery count: Int) throws -> [SimulatedAnswer] {
        let (place, clock) = (Place(), Steps())
        var answers: [SimulatedAnswer] = []
        var rest = SimulatorJournalTests.requests[...]
        while !rest.isEmpty {
            let host = SimulatorHost(
                SimulatorJournalTests.simulator(), journal: try place.open(), now: clock.next)
            answers += rest.prefix(count).map { host.respond(to: $0) }
            rest = rest.dropFirst(count)
        }
        return answers
    }

    @Test(arguments: [1, 10, 45])
    func nextSimulatorContinuesFromTheJournal(count: Int) throws {
        let whole = try answers(killedEvery: SimulatorJournalTests.requests.count)
        #expect(try answers(killedEvery: count) == whole)
        #expect(whole.contains(.cut))
        #expect(whole.contains { $0.response?.text.contains("& ü") == true })
    }

    @Test func truncatedRequestIsDropped() throws {
        let (place, clock) = (Place(), Steps())
        let requests = SimulatorJournalTests.requests
        do {
            let host = SimulatorHost(
                SimulatorJournalTests.simulator(), journal: try place.open(), now: clock.next)
            for request in requests.prefix(20) { _ = host.respond(to: request) }
        }
        let size = try Data(contentsOf: URL(fileURLWithPath: place.path)).count
        try place.append(#"{"time":13385520"#)
        #expect(try place.open().takePast().map(\.request) == Array(requests.prefix(20)))
        #expect(try Data(contentsOf: URL(fileURLWithPath: place.path)).count == size)
    }

    @Test(arguments: ["a recipe\nfor bread\n", "a recipe\nfor bread", "a recipe", "\n"])
    func fileThatIsNotAJournalIsNotChanged(text: String) throws {
        let place = Place()
        try Data(text.utf8).write(to: URL(fileURLWithPath: place.path))
        #expect { try place.open() } throws: { ($0 as? SimulatorServerError)?.code == .damaged }
        #expect(try String(contentsOfFile: place.path, encoding: .utf8) == text)
    }

    @Test func journalHasOneOwnerAtATime() throws {
        let place = Place()
        let first = try place.open()
        #expect { try place.open() } throws: { ($0 as? SimulatorServerError)?.code == .busy }
        withExtendedLifetime(first) {}
    }
}
