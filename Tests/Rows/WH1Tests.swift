import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// WH1: Signing up with or without a picture, signing in and out; an expired token loses no data.
@Suite struct WH1Tests {
    private func account(_ store: TapedeckStore) async throws -> AccountEntry? {
        try await store.query { try VideoQueries($0).accounts().accounts.first }
    }

    @Test func accountsPersistThroughSigningInAndOut() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        func observe(_ image: String?, at time: Int64) async throws {
            let event = AccountObserved.with {
                ($0.account, $0.system, $0.email) = ("7", "whale", "ada@example.org")
                if let image { $0.image = image }
            }
            try await store.log.append([ProposedEvent(observation: event, observedAt: time)])
        }
        try await observe(nil, at: 1_000)
        #expect(try await account(store)?.image == nil)
        #expect(try await account(store)?.nickname == "ada")
        #expect(try await account(store)?.isSignedIn == false)
        let user = SignedIn.with { ($0.account, $0.system) = ("7", "whale") }
        try await store.append([user])
        try await observe("https://example.org/ada.jpg", at: 2_000)
        var found = try #require(try await account(store))
        #expect(found.isSignedIn && found.image == "https://example.org/ada.jpg")
        let since = try #require(found.changedAt)

        place.clock.advance(by: .seconds(60))
        try await store.append([SignedOut.with { ($0.account, $0.system) = ("7", "whale") }])
        found = try #require(try await account(store))
        #expect(!found.isSignedIn && found.email == "ada@example.org")
        #expect((found.changedAt?.milliseconds ?? 0) == since.milliseconds + 60_000)
        let refused = await #expect(throws: StoreError.self) {
            try await store.query { try VideoQueries($0).requireSignedIn(at: "whale").account }
        }
        #expect(refused?.code == .signInRequired)
        try await store.append([user])
        #expect(try await account(store)?.isSignedIn == true)
    }
}
