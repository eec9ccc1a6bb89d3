import Foundation
import TestSupport
import Testing

/// Devices detect servers and stores that were wiped, copied or restored, and no event is lost.
@Suite(.serialized, .offTasks) struct SyncLossTests {
    private let files = FileManager.default

    @Test func wipedServersAreSeededByDevices() throws {
        let server = try ServeProcess()
        let stores = try (0..<3).map { _ in try Storectl.empty() }
        var history = SyncHistory()
        for store in stores { try history.append(20, to: store) }
        try Storectl.settle(stores, server)
        let token = try server.token

        try server.kill()
        try files.removeItem(atPath: server.data)
        // One device appends events before it notices the loss.
        try history.append(5, to: stores[0])
        try server.start()
        #expect(try server.token != token)
        let seeding = try stores[0].sync(server.url, server).document
        #expect(seeding["pushed"]?.number == 65)
        try history.append(5, to: stores[2])
        try Storectl.settle(stores, server)
        try history.check(stores)

        // A new device receives all events.
        let late = try Storectl.empty()
        try Storectl.settle(stores + [late], server)
        try history.check(stores + [late])
    }

    /// The earliest receipt decides whether an event is refused, even after the server has lost its
    /// data, and `explain` names it.
    @Test(arguments: [true, false])
    func refusalsOfLostServersAreExplained(refusesFirst: Bool) throws {
        let server = try ServeProcess()
        let limit = ["--event-bytes-max", "300"]
        let (store, late) = (try Storectl.empty(), try Storectl.empty())
        try server.end()
        try server.start(refusesFirst ? limit : [])
        let long = String(repeating: "x", count: 600)
        let event = try store.append(
            "CommentPosted", #"{"video":"vimeo:1","text":"\#(long)","author":"ada"}"#)
        _ = try store.sync(server.url, server)
        let code = refusesFirst ? "tooLarge" : nil
        func check(_ store: Storectl, _ server: String?, says text: String) throws {
            let run = try store.succeed("explain", event, "--json")
            let document = try run.document
            let shape = try #require(try Contract.read()["explain"]?.shape)
            #expect(shape.differences(from: document) == [])
            #expect(document["state"]?.text == "refused")
            #expect(document["counts"] == .bool(!refusesFirst))
            #expect(document["refusal"]?["code"]?.text == code)
            #expect(document["refusal"]?["server"]?.text == server)
            let told = try store.succeed("explain", event).stdout
            #expect(told.contains(text), "\(told)")
        }
        if refusesFirst {
            try check(store, server.url, says: "\(server.url) refused it (tooLarge)")
        }

        try server.end()
        try files.removeItem(atPath: server.data)
        try server.start(refusesFirst ? [] : limit)
        for device in [store, late, store] { _ = try device.sync(server.url, server) }
        guard refusesFirst else {
            return try check(store, nil, says: "yes, because an earlier receipt accepts it")
        }
        try check(
            store, server.url,
            says: "an earlier lineage of \(server.url) refused it (tooLarge), so it has no effect")
        // A device that never saw the earlier lineage gets its receipts from the others.
        _ = try late.sync(server.url, server)
        let unknown = "a server or lineage that this store does not know refused it (tooLarge)"
        try check(late, nil, says: unknown)
        // Without the server, the refusal still applies.
        try store.succeed("remote", "remove", server.url, "--yes")
        try check(store, nil, says: unknown)
    }

    /// The actions between copying the server and restoring it.
    enum After: CaseIterable, Sendable {
        /// All devices push and pull.
        case allSync
        /// One device pushes, and no other device pulls these events in time.
        case onePushes
        /// The server is restored, receives more events, and is restored again.
        case restoredTwice
    }

    @Test(arguments: After.allCases)
    func restoredServersAreSeededByDevices(_ after: After) throws {
        let server = try ServeProcess()
        let stores = try (0..<3).map { _ in try Storectl.empty() }
        let copy = stores[0].directory.path + "/server-copy"
        var history = SyncHistory()
        for store in stores { try history.append(10, to: store) }
        try Storectl.settle(stores, server)
        try server.kill()
        try files.copyItem(atPath: server.data, toPath: copy)
        try server.start()

        switch after {
        case .allSync, .restoredTwice:
            for store in stores { try history.append(7, to: store) }
            try Storectl.settle(stores, server)
        case .onePushes:
            try history.append(7, to: stores[1])
            #expect(try stores[1].sync(server.url, server).exit == 0)
        }
        try restore(server, copy)
        if after == .restoredTwice {
            try history.append(30, to: stores[2])
            #expect(try stores[2].sync(server.url, server).exit == 0)
            try restore(server, copy)
        }
        try history.append(3, to: stores[0])
        try Storectl.settle(stores, server)
        try history.check(stores)
    }

    private func restore(_ server: ServeProcess, _ copy: String) throws {
        try server.kill()
        try files.removeItem(atPath: server.data)
        try files.copyItem(atPath: copy, toPath: server.data)
        try server.start()
    }

    @Test func copiedStoresAndTheirSourceContinueSeparately() throws {
        let server = try ServeProcess()
        let (source, other, copy) = (
            try Storectl.empty(), try Storectl.empty(), try Storectl()
        )
        var history = SyncHistory()
        try history.append(10, to: source)
        try Storectl.settle([source, other], server)
        // These events are not pushed before the store is copied, so the store and its copy both
        // contain and push them.
        try history.append(5, to: source)
        try files.copyItem(atPath: source.store, toPath: copy.store)
        for store in [source, copy, other] { try history.append(8, to: store) }
        try Storectl.settle([copy, source, other], server)
        for store in [source, copy, other] { try history.append(2, to: store) }
        try Storectl.settle([other, source, copy], server)
        try history.check([source, copy, other])
        #expect(try origin(source) != origin(copy))
    }

    private func origin(_ store: Storectl) throws -> OrderedJSON? {
        try store.succeed("status", "--json").document["origin"]
    }

    /// The first action of a store after its log is restored in place.
    enum First: CaseIterable, Sendable {
        /// The store syncs, and gets its own lost events back from the server.
        case syncs
        /// The store appends events with ids that other stores already know.
        case appends
        /// As in `appends`, but the store appends more events than it lost.
        case appendsMore
        /// Some of the store's events were never pushed, so no copy of them is left.
        case appendsUnpushed
    }

    @Test(arguments: First.allCases)
    func logsRestoredInPlaceAreReconciled(_ first: First) throws {
        let server = try ServeProcess()
        let stores = try (0..<3).map { _ in try Storectl.empty() }
        let store = stores[0]
        var history = SyncHistory()
        for store in stores { try history.append(6, to: store) }
        try Storectl.settle(stores, server)
        let log = store.store + "/log.mdb"
        let copy = try Data(contentsOf: URL(fileURLWithPath: log))

        // The other stores know these events when the log is restored.
        for store in stores { try history.append(9, to: store) }
        try Storectl.settle(stores, server)
        // The store has also folded these events into its lists.
        #expect(try SyncHistory.shown(store).count == 45)
        if first == .appendsUnpushed {
            history.forget(try history.append(2, to: store))
        }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: copy)
        try file.close()

        switch first {
        case .syncs: break
        case .appends, .appendsUnpushed: try history.append(4, to: store)
        case .appendsMore: try history.append(20, to: store)
        }
        for store in stores[1...] { try history.append(3, to: store) }
        try Storectl.settle(stores, server)
        try history.append(2, to: store)
        try Storectl.settle(stores, server)
        try history.check(stores, isForked: first != .syncs)
    }
}
