import Foundation
import TapedeckConnectors
import TapedeckLog
import TapedeckModel
import TapedeckProjections
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// The observations of a show fold to the same state in every order, although repeated facts are
/// not recorded again.
@Suite(.offTasks) struct ObservationOrderTests {
    /// Returns the digests of the shows and episodes in a store that has recorded the new facts
    /// from the documents.
    private func digests(_ documents: [[ProposedEvent]]) async throws -> [String] {
        let place = try TemporaryStore("observations")
        let log = try EventLog.create(place.path("log"), options: place.options)
        defer { log.close() }
        for document in documents {
            // The observations of a document are recorded in shared commits, in any order.
            try await withThrowingTaskGroup { group in
                for event in document {
                    group.addTask {
                        do {
                            try await log.append(
                                [event], condition: event.fact.map { .factIsNew($0) })
                        } catch let error as LogError where error.code == .conditionFailed {}
                    }
                }
                try await group.waitForAll()
            }
        }
        return try digests(log)
    }

    private func digests(_ log: EventLog) throws -> [String] {
        let runner = ProjectionRunner(log, projections: [ShowCatalogue(), EpisodeSchedule()])
        defer { runner.close() }
        return try runner.rebuild(["shows", "schedule"]).projections.map(\.digest)
    }

    private func show(at time: Int64, _ fields: (inout ShowObserved) -> Void) throws
        -> [ProposedEvent]
    {
        var show = ShowObserved()
        (show.show, show.updated) = (7, 1_000)
        fields(&show)
        return [try ProposedEvent(observation: show, observedAt: time)]
    }

    @Test func equalObservationsMayArriveInAnyOrder() async throws {
        let answers = try (1...3).map { time in try show(at: Int64(time)) { $0.name = "Seven" } }
        let expected = try await digests(answers)
        #expect(try await digests(answers.reversed()) == expected)
        #expect(try await digests([answers[1], answers[0], answers[2]]) == expected)
    }

    /// If the last observation lacks a field, the field has the value from the latest observation
    /// that contains it.
    @Test func partialObservationsInAnyOrderGiveTheSameDigests() async throws {
        let answers = [
            try show(at: 1) { ($0.name, $0.language) = ("Seven", "English") },
            try show(at: 2) { ($0.name, $0.language) = ("Seven", "French") },
            try show(at: 3) { ($0.name, $0.language) = ("Seven", "English") },
            try show(at: 4) { $0.name = "7" },
        ]
        let expected = try await digests(answers)
        for order in [[0, 1, 3, 2], [3, 2, 1, 0], [1, 3, 0, 2], [0, 3, 1, 2]] {
            let found = try await digests(order.map { answers[$0] })
            #expect(found == expected, "\(order)")
        }
    }

    @Test(.enabled(if: Fixtures.arePresent, "no recorded responses: set TAPEDECK_FIXTURES"))
    func recordedResponsesInAnyOrderGiveTheSameDigests() async throws {
        var answers: [(time: Int64, events: [ProposedEvent])] = []
        for (folder, name) in Fixtures.resources {
            for file in try Fixtures.files(folder) {
                guard let time = Fixtures.time(file) else { continue }
                let result = try IngestResource.named(name)
                    .read(Fixtures.bytes(file), show: Fixtures.show(file), observedAt: time)
                answers.append((time, result.proposals))
            }
        }
        #expect(answers.count > 200)
        answers.sort { $0.time < $1.time }
        let expected = try await digests(answers.map(\.events))
        #expect(try await digests(answers.reversed().map(\.events)) == expected)
        var random = SeededGenerator(seed: runSeed)
        let shuffled = answers.shuffled(using: &random).map(\.events)
        #expect(try await digests(shuffled) == expected, "TAPEDECK_SEED=\(runSeed)")
    }

    /// Returns the facts that a second reading of a document adds to the first.
    private func added(
        _ name: String, _ bytes: [UInt8], show: Int64? = nil, list: String? = nil
    ) throws -> [ObservedFact] {
        func facts(at time: Int64) throws -> [ObservedFact] {
            try IngestResource.named(name).read(bytes, show: show, list: list, observedAt: time)
                .proposals.compactMap(\.fact)
        }
        let known = try facts(at: 1_700_000_000_000)
        return try facts(at: 1_700_000_060_000).filter { fact in
            !EventLog.isKnown(fact, among: known.filter { $0.entity == fact.entity })
        }
    }

    @Test(.enabled(if: Fixtures.arePresent, "no recorded responses: set TAPEDECK_FIXTURES"))
    func recordedResponsesReadAgainAddNothing() throws {
        for (folder, name) in Fixtures.resources {
            for file in try Fixtures.files(folder) {
                let added = try added(name, Fixtures.bytes(file), show: Fixtures.show(file))
                #expect(added.isEmpty, "\(file)")
            }
        }
    }

    /// Two shares of one video may contain different titles and pictures.
    @Test func differingDescriptionsOfAVideoAreRecordedOnce() throws {
        let broadcasts = ["b1", "b2", "b3"].enumerated().map { number, id in
            #"{"_id":"\#(id)","video_provider_name":"vimeo","video_id_at_provider":"12","#
                + #""video_title":"T\#(number)","created_at":"2012-01-0\#(number + 1)T00:00:00Z"}"#
        }
        for list in [broadcasts, broadcasts.reversed()] {
            let json = "[" + list.joined(separator: ",") + "]"
            #expect(try added("shelby/broadcasts", Array(json.utf8)).isEmpty)
        }
        let entries = (1...3).map { number in
            let id = "5000000\(number)0000000000000000"
            return #"{"id":"6\#(id.dropFirst())","action":8,"frame":{"id":"\#(id)","#
                + #""creator":{"id":"x","nickname":"ann"},"video":{"provider_name":"vimeo","#
                + #""provider_id":"12","title":"T\#(number)"}}}"#
        }
        let json = #"{"status":200,"result":["# + entries.joined(separator: ",") + "]}"
        #expect(try added("shelby/dashboard", Array(json.utf8)).isEmpty)
    }
}
