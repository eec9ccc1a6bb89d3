import TapedeckConnectors
import TapedeckModel
import TapedeckProjections
import TapedeckSync
import TapedeckVideo
import TestSupport
import Testing

/// The contents of the outbox do not depend on the order in which events arrive.
@Suite(.offTasks) struct OutboxTests {
    private static let outbox = Outbox(
        of: "video", inserts: [CommentPosted.eventType], registers: [WatchLaterToggled.eventType])

    private static func outcome(
        _ kind: OutcomeRecorded.Kind, of intent: EventID, target: String = "",
        isDerived: Bool = false, register: EventType? = nil
    ) throws -> ProposedEvent {
        var outcome = OutcomeRecorded()
        outcome.register = register?.name ?? ""
        outcome.system = "shelby"
        outcome.intent = intent.description
        outcome.target = target
        outcome.kind = kind
        outcome.isDerived = isDerived
        outcome.code = kind == .refused ? "remoteError" : ""
        return ProposedEvent(
            type: OutcomeRecorded.eventType, tags: [try Tag("video", "youtube:one")],
            payload: try outcome.payload())
    }

    private func items(_ script: Script) throws -> [OutboxItem] {
        try checkOrderDoesNotMatter(OutboxTests.outbox, script.events)
        let reader = try FoldedReader(script.events, [OutboxTests.outbox])
        return try OutboxRow.page(of: OutboxTests.outbox, reader, after: nil, limit: 100)
            .map(\.item)
    }

    @Test func intentStaysUntilItIsConfirmed() throws {
        var script = Script()
        try script.comment("hello", on: "youtube:one", at: 1)
        let intent = try #require(script.events.last).id
        #expect(try items(script).map(\.event) == [intent])
        script.add(try OutboxTests.outcome(.dispatched, of: intent), at: 2)
        #expect(try items(script).first?.part("")?.kind == .dispatched)
        script.add(try OutboxTests.outcome(.confirmed, of: intent), at: 3)
        #expect(try items(script).isEmpty)
        // A later outcome from another device does not return the intent to the outbox.
        script.add(try OutboxTests.outcome(.unknown, of: intent), at: 4, origin: 2)
        #expect(try items(script).isEmpty)
    }

    /// A device that did not know the latest toggle has sent an earlier one, which undid it.
    @Test func latestToggleIsPendingAgainIfAnEarlierOneWasSentLater() throws {
        let type = WatchLaterToggled.eventType
        for kind in [OutcomeRecorded.Kind.dispatched, .confirmed] {
            var script = Script()
            try script.toggle(true, at: 1)
            let earlier = try #require(script.events.last).id
            try script.toggle(false, at: 2, origin: 2)
            let latest = try #require(script.events.last).id
            script.add(try OutboxTests.outcome(.confirmed, of: latest, register: type), at: 3)
            script.add(try OutboxTests.outcome(kind, of: earlier, register: type), at: 4)
            #expect(try items(script).map(\.event) == [latest])
            #expect(try items(script).first?.milliseconds == UInt64(Script.time(2)))
            script.add(try OutboxTests.outcome(.confirmed, of: latest, register: type), at: 5)
            #expect(try items(script).isEmpty)
        }
    }

    /// The latest toggle of another device may belong to another account, so it only supersedes.
    @Test func togglesOfOtherDevicesAreSuperseded() throws {
        var script = Script()
        var toggles: [EventID] = []
        for (second, origin) in [(1, 1), (2, 2), (3, 1), (4, 3)] {
            try script.toggle(second % 2 == 1, at: Double(second), origin: UInt64(origin))
            toggles.append(try #require(script.events.last).id)
        }
        #expect(try items(script).map(\.event) == [toggles[3]])
        func superseded() throws -> [EventID] {
            let reader = try FoldedReader(script.events, [OutboxTests.outbox])
            return try OutboxRow.page(
                of: OutboxTests.outbox, reader, isSuperseded: true, after: nil, limit: 100
            ).map(\.item.event)
        }
        // The first toggle was replaced by a later one of the same device.
        #expect(try superseded() == [toggles[1], toggles[2]])
        func isPending(_ toggle: EventID, others: EventID...) throws -> Bool {
            let reader = try FoldedReader(script.events, [OutboxTests.outbox])
            let event = try #require(script.events.first { $0.id == toggle })
            let proposal = event.proposal
            let envelope = EventEnvelope(
                id: toggle, position: .start, stamp: event.stamp, type: proposal.type,
                schemaVersion: proposal.schemaVersion, tags: proposal.tags, fact: nil,
                causation: nil, correlation: nil, reissuedFrom: nil, retention: proposal.retention,
                encoding: .plain, keyID: [], payload: proposal.payload)
            let intent = Intent(envelope, key: try Tag("video", "youtube:one"))
            return try OutboxTests.outbox.standing(of: intent, reader) { others.contains($0) }
                != nil
        }
        #expect(try !isPending(toggles[1]) && !isPending(toggles[2]) && isPending(toggles[3]))
        #expect(try !isPending(toggles[1], others: toggles[2]))
        #expect(try isPending(toggles[1], others: toggles[2], toggles[3]))
        #expect(try isPending(toggles[2], others: toggles[3]))
        // A superseded toggle can be confirmed, too.
        script.add(try OutboxTests.outcome(.confirmed, of: toggles[2]), at: 5)
        #expect(try superseded() == [toggles[1]])
        #expect(try items(script).map(\.event) == [toggles[3]])
    }

    @Test func endedTogglesStayEndedIfNothingWasSentSince() throws {
        let type = WatchLaterToggled.eventType
        var script = Script()
        try script.toggle(true, at: 1)
        let earlier = try #require(script.events.last).id
        try script.toggle(false, at: 2, origin: 2)
        let latest = try #require(script.events.last).id
        script.add(try OutboxTests.outcome(.confirmed, of: earlier, register: type), at: 3)
        script.add(try OutboxTests.outcome(.confirmed, of: latest, register: type), at: 4)
        // The remote was in the requested state already, so no request was sent.
        script.add(try OutboxTests.outcome(.confirmed, of: earlier), at: 5)
        // A repeated confirmation of the latest toggle changes nothing.
        script.add(try OutboxTests.outcome(.confirmed, of: latest, register: type), at: 6)
        #expect(try items(script).isEmpty)
        // A toggle that the user dropped stays dropped.
        try script.toggle(true, at: 7)
        let dropped = try #require(script.events.last).id
        script.add(try OutboxTests.outcome(.dropped, of: dropped), at: 8)
        script.add(try OutboxTests.outcome(.confirmed, of: latest, register: type), at: 9)
        #expect(try items(script).isEmpty)
    }

    @Test func intentsExpireUnlessTheyMayHaveBeenSent() throws {
        let outbox = Outbox(
            of: "video", inserts: [CommentPosted.eventType], registers: [],
            lifetimes: [CommentPosted.eventType: .seconds(60)])
        var script = Script()
        try script.comment("hello", on: "youtube:one", at: 1)
        let intent = try #require(script.events.last).id
        func isExpired(at second: Double) throws -> Bool {
            let reader = try FoldedReader(script.events, [outbox])
            let rows = try OutboxRow.page(of: outbox, reader, after: nil, limit: 1)
            return outbox.isExpired(
                try #require(rows.first).item, of: CommentPosted.eventType,
                at: UInt64(Script.time(second)))
        }
        #expect(try !isExpired(at: 0) && !isExpired(at: 61))
        #expect(try isExpired(at: 62))
        // An attempt that did not reach the remote has no effect.
        script.add(try OutboxTests.outcome(.unsent, of: intent), at: 30)
        #expect(try isExpired(at: 62))
        script.add(try OutboxTests.outcome(.dispatched, of: intent), at: 31)
        #expect(try !isExpired(at: 1_000))
    }

    /// Clocks differ and receipts arrive one by one, so a confirmation may be ordered before its
    /// intent.
    @Test func outcomesOrderedBeforeTheirIntentAreApplied() throws {
        var script = Script()
        try script.comment("hello", on: "youtube:one", at: 5)
        let comment = try #require(script.events.last).id
        try script.toggle(true, at: 6)
        let toggle = try #require(script.events.last).id
        #expect(try items(script).count == 2)
        script.add(try OutboxTests.outcome(.confirmed, of: comment), at: 2, origin: 2)
        script.add(try OutboxTests.outcome(.refused, of: toggle), at: 3, origin: 2)
        #expect(try items(script).map(\.event) == [toggle])
        #expect(try items(script).first?.end?.kind == .refused)
        script.add(try OutboxTests.outcome(.dropped, of: toggle), at: 4, origin: 2)
        #expect(try items(script).isEmpty)
        try script.toggle(false, at: 7)
        let latest = try #require(script.events.last).id
        #expect(try items(script).map(\.event) == [latest])
    }

    @Test func refusalLastsUntilARetry() throws {
        var script = Script()
        try script.comment("hello", on: "youtube:one", at: 1)
        let intent = try #require(script.events.last).id
        script.add(try OutboxTests.outcome(.refused, of: intent), at: 2)
        #expect(try items(script).first?.end?.code == "remoteError")
        script.add(try OutboxTests.outcome(.retried, of: intent), at: 3)
        #expect(try items(script).first?.end == nil)
        script.add(try OutboxTests.outcome(.dropped, of: intent), at: 4)
        #expect(try items(script).isEmpty)
    }

    @Test func onlyTheLatestIntentOfARegisterIsKept() throws {
        var script = Script()
        try script.toggle(true, at: 1)
        try script.comment("stays", on: "youtube:one", at: 2)
        try script.toggle(false, at: 3, origin: 2)
        let latest = try #require(script.events.last).id
        let items = try items(script)
        #expect(items.count == 2)
        #expect(items.contains { $0.event == latest })
    }

    @Test func intentsOfOneUserDoNotReplaceThoseOfAnother() throws {
        let outbox = try #require(Connectors.outboxes.first { $0.tagKind == "user" })
        var script = Script()
        func follow(_ follower: String, _ isOn: Bool, at second: Double) throws -> EventID {
            let toggle = FollowToggled.with {
                ($0.user, $0.follower, $0.isOn) = ("3", follower, isOn)
            }
            script.add(try ProposedEvent(toggle), at: second)
            return try #require(script.events.last).id
        }
        _ = try follow("1", true, at: 1)
        let other = try follow("4", false, at: 2)
        let own = try follow("1", false, at: 3)
        try checkOrderDoesNotMatter(outbox, script.events)
        let reader = try FoldedReader(script.events, [outbox])
        let wanted = try OutboxRow.page(of: outbox, reader, after: nil, limit: 100)
        #expect(wanted.map(\.item.event) == [other, own])
    }

    @Test func partsOfAnIntentEndSeparately() throws {
        var script = Script()
        try script.toggle(false, at: 1)
        let intent = try #require(script.events.last).id
        script.add(try OutboxTests.outcome(.confirmed, of: intent, target: "a"), at: 2)
        script.add(try OutboxTests.outcome(.dispatched, of: intent, target: "a"), at: 3)
        script.add(try OutboxTests.outcome(.refused, of: intent, target: "b"), at: 4)
        let item = try #require(try items(script).first)
        #expect(item.part("a")?.kind == .confirmed)
        #expect(item.part("b")?.kind == .refused)
        #expect(item.end == nil)
    }

    @Test func randomHistoriesFoldToTheSameBytesInAnyOrder() throws {
        for round in 0..<40 as Range<UInt64> {
            var generator = SeededGenerator(seed: runSeed &+ round)
            func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
            var script = Script()
            var intents: [EventID] = []
            for second in 0..<60 {
                let origin = UInt64(number(3) + 1)
                switch number(4) {
                case 0:
                    try script.comment(
                        "c", on: "youtube:one", at: Double(second), origin: origin)
                    intents += script.events.last.map { [$0.id] } ?? []
                case 1:
                    try script.toggle(
                        number(2) == 0, at: Double(second), origin: origin)
                    intents += script.events.last.map { [$0.id] } ?? []
                default:
                    guard let intent = intents.randomElement(using: &generator) else { continue }
                    let kind = OutcomeRecorded.Kind(rawValue: number(8)) ?? .unknown
                    script.add(
                        try OutboxTests.outcome(
                            kind, of: intent, target: number(3) == 0 ? "part" : "",
                            isDerived: number(4) == 0),
                        at: Double(number(5) == 0 ? number(60) : second), origin: origin)
                }
            }
            try checkOrderDoesNotMatter(OutboxTests.outbox, script.events, rounds: 4)
        }
    }
}
