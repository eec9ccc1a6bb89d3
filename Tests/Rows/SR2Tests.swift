import Tapedeck
import TapedeckTesting
import Testing

/// SR2: The extraction plan: one video at a time, the current one first, with a reason for each skipped video.
@Suite struct SR2Tests {
    private typealias Knowledge = ExtractionPolicy.Knowledge
    private let time = UTCTime(milliseconds: 1_700_000_000_000)

    private func videos(_ numbers: Int...) throws -> [VideoKey] {
        try numbers.map { try VideoKey("vimeo:\($0)") }
    }

    private func later(_ seconds: Int64) -> UTCTime {
        UTCTime(milliseconds: time.milliseconds + seconds * 1_000)
    }

    @Test func extractionsAreCancelledWhenTheCurrentVideoChanges() throws {
        let list = try videos(1, 2, 3, 4)
        let policy = ExtractionPolicy(aheadCount: 1)
        let first = policy.plan(list, current: 0, running: nil, now: time) { _ in Knowledge() }
        #expect(first.run == list[0] && first.waiting == [list[1]] && first.cancelled == nil)
        #expect(first.timesOutAt == later(15) && first.nextChangeAt == later(15))
        let running = ExtractionPolicy.Running(list[0], since: time)
        let same = policy.plan(list, current: 0, running: running, now: later(5)) { _ in
            Knowledge()
        }
        #expect(same.continuing == list[0] && same.run == nil && same.timesOutAt == later(15))
        let moved = policy.plan(list, current: 2, running: running, now: later(5)) { _ in
            Knowledge()
        }
        #expect(moved.cancelled == .init(video: list[0], reason: .unwanted))
        #expect(moved.run == list[2] && moved.waiting == [list[3]])
        let back = policy.plan(
            list, current: 0, running: .init(list[1], since: time), now: later(5)
        ) { _ in Knowledge() }
        #expect(back.cancelled == .init(video: list[1], reason: .overtaken))
        #expect(back.run == list[0])
    }

    @Test func timedOutVideosAreSkipped() throws {
        let list = try videos(1, 2)
        let running = ExtractionPolicy.Running(list[0], since: time)
        let plan = ExtractionPolicy().plan(list, current: 0, running: running, now: later(15)) {
            _ in Knowledge()
        }
        #expect(plan.cancelled == .init(video: list[0], reason: .timedOut))
        #expect(plan.run == list[1])
        #expect(plan.skipped.map(\.reason) == [.timedOut])
    }

    @Test func availableAndFailedVideosAreSkipped() throws {
        let list = try videos(1, 2, 3, 4, 5)
        let known: [VideoKey: Knowledge] = [
            list[0]: Knowledge(isOnDisk: true),
            list[1]: Knowledge(goodUntil: later(10)),
            list[2]: Knowledge(failure: .init(reason: "timeout", nextTryAt: later(30))),
            list[3]: Knowledge(failure: .init(reason: "gone", nextTryAt: nil)),
            list[4]: Knowledge(
                goodUntil: time, failure: .init(reason: "timeout", nextTryAt: time)),
        ]
        let plan = ExtractionPolicy(aheadCount: 5).plan(
            list, current: 0, running: nil, now: time
        ) { known[$0] ?? Knowledge() }
        #expect(plan.skipped.map(\.reason) == [.onDisk, .cached, .failed, .failed])
        #expect(plan.skipped.map(\.until) == [nil, later(10), later(30), nil])
        #expect(plan.skipped.map(\.failure) == [nil, nil, "timeout", "gone"])
        #expect(plan.run == list[4] && plan.nextChangeAt == later(10))
    }

    @Test func lookaheadDependsOnTheDevice() throws {
        let list = try videos(1, 2, 3, 4, 5, 6, 7, 8)
        for (device, count) in zip(ExtractionPolicy.DeviceKind.allCases, [1, 2, 5]) {
            let plan = ExtractionPolicy(aheadCount: device.aheadCount).plan(
                list, current: 1, running: nil, now: time
            ) { _ in Knowledge() }
            #expect(plan.waiting.count == count)
        }
        let none = ExtractionPolicy().plan(list, current: 8, running: nil, now: time) { _ in
            Knowledge()
        }
        #expect(none == ExtractionPlan())
    }

    @Test(arguments: 0..<300) func plansAreConsistentForAnyState(_ seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed) &* 7_919 &+ 1)
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
        let list = try (0..<number(12)).map { _ in try VideoKey("vimeo:\(number(9) + 1)") }
        var known: [VideoKey: Knowledge] = [:]
        for video in list {
            known[video] = Knowledge(
                isOnDisk: number(6) == 0, goodUntil: number(3) == 0 ? later(Int64(number(9))) : nil,
                failure: number(3) > 0
                    ? nil
                    : .init(
                        reason: "timeout",
                        nextTryAt: number(4) == 0 ? nil : later(Int64(number(9)))))
        }
        let running =
            number(2) == 0
            ? nil
            : ExtractionPolicy.Running(
                try VideoKey("vimeo:\(number(9) + 1)"), since: later(-Int64(number(20))))
        let (current, ahead) = (number(12), number(6))
        let policy = ExtractionPolicy(aheadCount: ahead)
        func plan(_ now: UTCTime) -> ExtractionPlan {
            policy.plan(list, current: current, running: running, now: now) {
                known[$0] ?? Knowledge()
            }
        }
        let now = later(Int64(number(5)))
        let found = plan(now)
        #expect(found == plan(now), "the plan is not deterministic")
        #expect(found.run == nil || found.continuing == nil, "more than one video runs")
        #expect(
            (found.cancelled != nil) == (running != nil && found.continuing == nil),
            "a running extraction must either continue or be cancelled")
        #expect(found.continuing == nil || found.continuing == running?.video)
        // Each wanted video appears in the plan exactly once.
        let wanted = list.dropFirst(current).prefix(ahead + 1)
        let parts =
            [found.run, found.continuing].compactMap { $0 } + found.waiting
            + found.skipped.map(\.video)
        #expect(Set(parts) == Set(wanted) && Set(parts).count == parts.count)
        // Videos are extracted in the order of the list.
        let queue = [found.run, found.continuing].compactMap { $0 } + found.waiting
        let places = queue.compactMap { wanted.firstIndex(of: $0) }
        #expect(places == places.sorted())
        #expect(queue.allSatisfy { !(known[$0]?.isOnDisk ?? false) })
        // Until the next change, plans differ only in the times that are measured from the start of
        // an extraction.
        if let change = found.nextChangeAt, change > now {
            var before = plan(UTCTime(milliseconds: change.milliseconds - 1))
            if before.run != nil { before.timesOutAt = found.timesOutAt }
            if before.run != nil { before.nextChangeAt = found.nextChangeAt }
            #expect(before == found)
        }
    }

    @Test func followingThePlanFinishesTheQueue() throws {
        let list = try videos(1, 2, 3, 4)
        let policy = ExtractionPolicy(aheadCount: 3)
        var known: [VideoKey: Knowledge] = [:]
        var ran: [VideoKey] = []
        var running: ExtractionPolicy.Running?
        for step in 0..<20 {
            let now = later(Int64(step))
            let plan = policy.plan(list, current: 0, running: running, now: now) {
                known[$0] ?? Knowledge()
            }
            if plan.cancelled != nil { running = nil }
            guard let video = plan.run ?? plan.continuing else { break }
            ran.append(video)
            if video == list[1] {
                known[video] = Knowledge(failure: .init(reason: "gone", nextTryAt: nil))
            } else {
                known[video] = Knowledge(goodUntil: later(1_000))
            }
            running = nil
        }
        #expect(ran == list)
    }

    @Test func plansUseExtractionsFromTheLog() async throws {
        let stage = try PlaybackStage("sr2")
        try await stage.extract("vimeo:1")
        try await stage.fail("vimeo:2")
        let list = try videos(1, 2, 3)
        let plan = try await stage.ask {
            try $0.extractionPlan(
                list, current: 0, policy: ExtractionPolicy(aheadCount: 2), at: $1)
        }
        #expect(plan.run == list[2])
        #expect(plan.skipped.map(\.reason) == [.cached, .failed])
        #expect(plan.nextChangeAt == stage.later(15))
    }
}
