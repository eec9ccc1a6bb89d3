import Foundation
import Tapedeck
import TapedeckTesting
import Testing

/// Errors, subscriptions and URLs at the level of `TapedeckStore`.
@Suite struct FacadeTests {
    private struct Enough: Error {}

    private func later(_ video: String) -> WatchLaterToggled {
        WatchLaterToggled.with { ($0.video, $0.isOn) = (video, true) }
    }

    @Test func decideRethrowsErrorsOfTheDecision() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        await #expect(throws: Enough.self) { try await store.decide { _ in throw Enough() } }
        let nobody = await #expect(throws: StoreError.self) {
            try await store.decide(reading: ["no-such-projection"]) { _ in [] }
        }
        #expect(nobody?.code == .notFound)
        let decided = try await store.decide { views in
            try VideoQueries(views).watchLater().videos.isEmpty ? [later("vimeo:1")] : []
        }
        #expect(decided?.count == 1)
        let nothing = try await store.decide { views in
            try VideoQueries(views).watchLater().videos.isEmpty ? [later("vimeo:2")] : []
        }
        #expect(nothing == nil)
        store.close()
        let closed = await #expect(throws: StoreError.self) { try await store.decide { _ in [] } }
        #expect(closed?.code == .closed)
    }

    @Test func rebuildsDoNotRedeliverEventsToSubscriptions()
        async throws
    {
        let place = try TemporaryStore()
        var store = try place.open()
        try await store.append((1...20).map { later("vimeo:\($0)") })
        var mails = try await store.subscribe(named: "mails", types: [WatchLaterToggled.eventType])
        var found: [UInt64] = []
        for try await event in mails {
            found.append(event.position.rawValue)
            try await mails.acknowledge(through: event)
            if event.position == store.log.head { break }
        }
        #expect(found == Array(1...20))
        try await rebuild(store)
        #expect(try await store.subscriptions().map(\.acknowledged) == [store.log.head])
        try await store.append([later("vimeo:21")])
        for try await event in mails {
            #expect(event.position.rawValue == 21)
            break
        }
        let busy = await #expect(throws: StoreError.self) {
            _ = try await store.subscribe(named: "mails")
        }
        #expect(busy?.code == .busy)
        store.close()

        store = try place.open()
        try await rebuild(store)
        mails = try await store.subscribe(named: "mails", types: [WatchLaterToggled.eventType])
        for try await event in mails {
            #expect(event.position.rawValue == 21)
            break
        }
        mails.close()
        for try await _ in mails { Issue.record("a closed subscription delivered an event") }
        try await store.removeSubscription(named: "mails")
        #expect(try await store.subscriptions().isEmpty)
        store.close()
    }

    @Test func storesOpenByFileURL() async throws {
        let place = FileManager.default.temporaryDirectory
            .appending(path: "a store \(UUID().uuidString)", directoryHint: .isDirectory)
        defer { try? FileManager.default.removeItem(at: place) }
        let store = try TapedeckStore.open(place)
        try await store.append([later("vimeo:1")])
        store.close()
        let again = try TapedeckStore.open(
            place.appending(path: "").path(percentEncoded: false), creating: false)
        #expect(again.log.head.rawValue == 1)
        again.close()
        let elsewhere = try #require(URL(string: "https://example.org/store"))
        let error = #expect(throws: StoreError.self) { try TapedeckStore.open(elsewhere) }
        #expect(error?.code == .usage)
    }

    private func rebuild(_ store: TapedeckStore) async throws {
        try await Task.detached { try FacadeTests.rebuildNow(store) }.value
    }

    private static func rebuildNow(_ store: TapedeckStore) throws {
        _ = try store.projections.rebuild()
    }
}
