import Foundation
import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// Whale intents are neither lost nor repeated, despite interrupted requests, crashes and other
/// faults.
@Suite(.offTasks) struct WhaleAdversityTests {
    private static let wanted = [
        "answerUploaded 4 ", "comment 1 same", "comment 1 same", "comment 2 other", "like 1 ",
        "like 3 ", "question 2 why?", "question 2 why?",
    ]

    private static func wantAll(_ desk: WhaleDesk) throws {
        try desk.comment("same")
        try desk.comment("same")
        try desk.comment("other", on: "2")
        try desk.like("1")
        try desk.like("3")
        try desk.ask("why?")
        try desk.ask("why?")
        try desk.answer("4")
    }

    /// Every kind of request, by its method and the end of its path.
    static let kinds: [(method: String, end: String)] = [
        ("POST", "/sessions"), ("GET", "/sessions"), ("GET", "/users"), ("GET", "/questions"),
        ("GET", "/answers"), ("GET", "/comments"), ("GET", "/likes"), ("POST", "/comments"),
        ("POST", "/likes"), ("POST", "/questions"), ("POST", "/4/answers"),
    ]

    @Test(arguments: kinds.indices, [true, false])
    func interruptedRequestsAreRecovered(kind: Int, isAfter: Bool) throws {
        let (method, end) = Self.kinds[kind]
        let desk = try WhaleDesk()
        let shears = Shears(desk.world, isAfter: isAfter) {
            $0.method == method && $0.path.hasSuffix(end)
        }
        try Self.wantAll(desk)
        try desk.settle()
        #expect(shears.cuts == 1)
        #expect(desk.effects == Self.wanted)
        #expect(try desk.device.outbox().isEmpty)
        #expect(desk.world.simulator.violations.isEmpty)
        #expect(try desk.texts() == ["nice", "same", "same"])
    }

    @Test(arguments: Soak.sample(Array(1...45), 6))
    func crashesNeitherLoseNorRepeatAnything(number: Int) throws {
        for point in [CrashPoint.before(number), .after(number)] {
            let desk = try WhaleDesk()
            try Self.wantAll(desk)
            try desk.device.sync(crashing: point)
            try desk.settle()
            #expect(desk.effects == Self.wanted, "\(point)")
            #expect(try desk.device.outbox().isEmpty, "\(point)")
            #expect(try desk.texts() == ["nice", "same", "same"], "\(point)")
            #expect(desk.world.simulator.violations.isEmpty)
        }
    }

    @Test func nothingIsLostOrRepeatedUnderHarshConditions() throws {
        let first = runSeed
        for seed in first..<first + UInt64(Soak.count(4, soak: 200)) {
            var weather = SimulatorAdversary.harsh
            // A row that another user has removed looks like a row that never existed, so no rows
            // are removed in this test.
            weather.deletionRate = 0
            let desk = try WhaleDesk(weather, seed: seed)
            try Self.wantAll(desk)
            try desk.settle(40)
            let own = desk.world.simulator.effects.map {
                "\($0.kind.rawValue) \($0.entity) \($0.text)"
            }.sorted()
            #expect(own == Self.wanted, "TAPEDECK_SEED=\(seed)")
            let left = try desk.device.outbox()
            #expect(left.isEmpty, "TAPEDECK_SEED=\(seed): \(left.map(\.state))")
            #expect(desk.world.simulator.violations.isEmpty, "TAPEDECK_SEED=\(seed)")
            // Once the faults end, everything that was not read before is read.
            desk.world.simulator.adversary = .none
            desk.world.clock.advance(by: .seconds(60))
            try desk.device.sync()
            desk.world.clock.advance(by: .seconds(60))
            try desk.device.sync()
            let world = try desk.whale.world
            for answer in world.answers {
                let comments = world.comments.filter { $0.answer == answer.id }.map(\.id).sorted()
                let shown = try desk.device.query {
                    try $0.comments(answer: String(answer.id), limit: 500).comments.map(\.id)
                }
                #expect(
                    shown == comments.map { "whale:\($0)" },
                    "TAPEDECK_SEED=\(seed): answer \(answer.id)")
            }
        }
    }
}
