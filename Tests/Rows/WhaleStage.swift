import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// The store of a Whale user, who has the id `1` and the name ada; the scenario advances the clock.
struct WhaleStage {
    let place: TemporaryStore
    let store: TapedeckStore

    init(_ name: String) throws {
        place = try TemporaryStore(name)
        store = try place.open()
    }

    /// Records the remote's observations of the account's user.
    func signIn() async throws {
        try await see(
            UserObserved.with { ($0.user, $0.username) = ("1", "ada") },
            UserObserved.with {
                ($0.user, $0.isOwn, $0.followerCount) = ("1", true, 3)
                $0.cleared = ["followingCount"]
            })
    }

    func wait(_ seconds: Int = 1) { place.clock.advance(by: .seconds(seconds)) }

    func ask<R: Sendable>(
        _ question: @escaping @Sendable (VideoQueries<Views>) throws -> R
    ) async throws -> R {
        try await store.query { try question(VideoQueries($0)) }
    }

    /// Advances the clock by one second and records observations made at that time.
    func see(_ observations: any Observation...) async throws {
        wait()
        let now = Int64(place.clock.milliseconds)
        try await store.log.append(
            observations.map { try ProposedEvent(observation: $0, observedAt: now) })
    }

    func seeUser(_ id: String, _ name: String, first: String = "", last: String = "") async throws {
        try await see(
            UserObserved.with {
                ($0.user, $0.username) = (id, name)
                if !first.isEmpty { $0.firstName = first }
                if !last.isEmpty { $0.lastName = last }
            })
    }

    func seeQuestion(_ id: String, from sender: String = "2", to receiver: String = "1")
        async throws
    {
        try await see(
            QuestionObserved.with {
                ($0.question, $0.text) = (id, "why \(id)?")
                ($0.sender, $0.receiver) = (sender, receiver)
            })
    }

    func seeAnswer(_ id: String, to question: String) async throws {
        try await see(
            AnswerObserved.with {
                ($0.answer, $0.question) = (id, question)
                $0.videoURL = "https://media.example.org/\(id).mp4"
                $0.thumbnailURL = "https://media.example.org/\(id).jpg"
                ($0.likeCount, $0.commentCount) = (4, 1)
            })
    }

    /// Records the outcome of an intent at the remote.
    func recordOutcome(
        _ kind: OutcomeRecorded.Kind, of intent: EventID, on tags: String..., code: String = "",
        message: String = ""
    ) async throws {
        wait()
        let outcome = OutcomeRecorded.with {
            ($0.system, $0.intent, $0.kind) = (Whale.system, intent.description, kind)
            ($0.code, $0.message) = (code, message)
        }
        var event = try ProposedEvent(outcome)
        event.tags = try tags.map { try Tag($0) }
        try await store.log.append([event])
    }

    /// Runs a command and returns the ID of its first event; nil if there is nothing to do.
    @discardableResult
    func decide(
        _ command: @escaping @Sendable (VideoQueries<Views>) throws -> [any Event]
    ) async throws -> EventID? {
        wait()
        return try await store.decide { try command(VideoQueries($0)) }?.firstID
    }

    /// Returns the entries of all pages of a list; `between` runs between pages.
    func pages<Entry: Sendable>(
        between: () async throws -> Void = {},
        _ page: @escaping @Sendable (VideoQueries<Views>, String?) throws -> ([Entry], String?)
    ) async throws -> [Entry] {
        var entries: [Entry] = []
        var cursor: String?
        repeat {
            let at = cursor
            let (found, next) = try await ask { try page($0, at) }
            entries += found
            cursor = next
            if next != nil { try await between() }
        } while cursor != nil
        return entries
    }
}
