import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// BT2: A video submitted offline is delivered once, and is shown as the user's own until the server lists it.
@Suite struct BT2Tests {
    private func first(_ store: TapedeckStore) async throws -> SubmissionEntry? {
        try await store.query { try VideoQueries($0).submissions(order: .new).videos.first }
    }

    private func signIn(_ store: TapedeckStore) async throws {
        try await store.append([
            SignedIn.with { ($0.account, $0.system) = ("ada@example.org", BirdTube.system) }
        ])
    }

    private func submit(_ submit: SubmitVideo, to store: TapedeckStore) async throws -> EventID? {
        try await store.decide { try submit.decide(VideoQueries($0)) }?.firstID
    }

    private static func outcome(
        _ intent: EventID, _ kind: OutcomeRecorded.Kind, _ message: String = ""
    ) throws -> ProposedEvent {
        let outcome = OutcomeRecorded.with {
            ($0.system, $0.intent, $0.kind) = ("birdtube", intent.description, kind)
            ($0.code, $0.message) = (message.isEmpty ? "" : "remoteError", message)
        }
        var proposal = try ProposedEvent(outcome)
        proposal.tags = [try Tag("video", "youtube:dQw4w9WgXcQ")]
        return proposal
    }

    private static func observation() throws -> ProposedEvent {
        let event = SubmissionObserved.with {
            ($0.video, $0.title, $0.views) = ("youtube:dQw4w9WgXcQ", "As the server says", 3)
        }
        return try ProposedEvent(observation: event, observedAt: 1_500_000_000_000)
    }

    @Test func submissionStateFollowsOutcomesAndObservations() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        try await signIn(store)
        let command = try SubmitVideo("https://youtu.be/dQw4w9WgXcQ?t=3", title: "Mine")
        let id = try #require(try await submit(command, to: store))
        var entry = try #require(try await first(store))
        #expect(entry.key == "youtube:dQw4w9WgXcQ" && entry.title == "Mine")
        #expect(entry.state == .submitted && entry.submission == id.description)
        #expect(entry.url == "https://youtu.be/dQw4w9WgXcQ?t=3" && entry.views == nil)

        try await store.log.append([Self.outcome(id, .refused, "The video can't be registered.")])
        entry = try #require(try await first(store))
        #expect(entry.state == .refused && entry.code == "remoteError")
        #expect(entry.message == "The video can't be registered.")

        try await store.log.append([Self.outcome(id, .retried)])
        #expect(try await first(store)?.state == .submitted)

        try await store.log.append([Self.observation()])
        let list = try await store.query { try VideoQueries($0).submissions().videos }
        try #require(list.count == 1)
        #expect(list[0].state == .registered && list[0].title == "As the server says")
        #expect(list[0].submission == id.description && list[0].views == 3)
    }

    @Test func videosAreSubmittedOnce() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        try await signIn(store)
        let first = try SubmitVideo("youtube:dQw4w9WgXcQ")
        let again = try SubmitVideo("https://www.youtube.com/watch?v=dQw4w9WgXcQ")
        let id = try #require(try await submit(first, to: store))
        #expect(try await submit(again, to: store) == nil)
        let address = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
        #expect(try await self.first(store)?.url == address)
        try await store.log.append([Self.outcome(id, .refused, "no")])
        let second = try #require(try await submit(again, to: store))
        try await store.log.append([Self.outcome(second, .dropped)])
        // Only the refused submission is left.
        #expect(try await self.first(store)?.submission == id.description)
        try await store.log.append([Self.outcome(id, .dropped)])
        #expect(try await self.first(store) == nil)
        try await store.log.append([Self.observation()])
        #expect(try await submit(first, to: store) == nil)
    }

    @Test func onlyYouTubeVideosCanBeSubmitted() throws {
        let refused = #expect(throws: ModelError.self) { try SubmitVideo("https://vimeo.com/1") }
        #expect(refused?.code == .invalidVideo)
        let mixed = #expect(throws: ModelError.self) {
            try VideoSubmitted.with {
                ($0.video, $0.url) = ("youtube:dQw4w9WgXcQ", "https://youtu.be/aqz-KE-bpKQ")
            }.normalized()
        }
        #expect(mixed?.code == .invalidPayload)
    }

    // MARK: - At the remote

    @Test func submissionsReachTheRemoteOnce() async throws {
        try await BirdTubeStage.run { stage in
            let store = stage.store
            try await signIn(store)
            let mine = try SubmitVideo("youtube:brandnewone", title: "Mine")
            let odd = try SubmitVideo("youtube:odd", title: "Odd")
            let id = try #require(try await submit(mine, to: store))
            _ = try await submit(odd, to: store)
            // Both submissions wait until the user logs in.
            let asked = try await stage.sync()
            #expect(asked.waiting.map(\.reason) == [.signInRequired, .signInRequired])
            try await stage.logIn()
            let report = try await stage.sync()
            #expect(report.pushed == 1 && report.refused.map(\.code) == [.remoteError])
            for _ in 0..<2 { try await stage.sync() }
            #expect(stage.effects == ["submission brandnewone Mine"])
            let entry = try #require(
                try await store.query {
                    try VideoQueries($0).submission(video: "youtube:brandnewone")
                })
            #expect(entry.state == .registered && entry.submission == id.description)
            #expect(entry.owner == "1" && entry.channel != nil)
            let refused = try await store.query {
                try VideoQueries($0).submission(video: "youtube:odd")
            }
            #expect(refused?.state == .refused)
            #expect(refused?.message?.contains("can't be registered") == true)
        }
    }
}
