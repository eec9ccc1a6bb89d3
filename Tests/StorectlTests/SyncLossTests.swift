import Foundation
import TestSupport
import Testing

/// Servers and stores that are wiped, copied and put back: devices notice, and nothing is lost.
@Suite(.serialized, .offTasks) struct SyncLossTests {
    private let files = FileManager.default

    @Test func wipedServerIsSeededByDevices() throws {
        let server = try ServeProcess()
        let stores = try (0..<3).map { _ in try Storectl.empty() }
        var history = SyncHistory()
        for store in stores { try history.append(20, to: store) }
        try Storectl.settle(stores, server)
        let token = try server.token

        try server.kill()
        try files.removeItem(atPath: server.data)
        // One device writes on before it hears of it.
        try history.append(5, to: stores[0])
        try server.start()
        #expect(try server.token != token)
        let seeding = try stores[0].sync(server.url, server).document
        #expect(seeding["pushed"]?.number == 65)
        try history.append(5, to: stores[2])
        try Storectl.settle(stores, server)
        try history.check(stores)

        // A device that begins now gets all of it.
        let late = try Storectl.empty()
        try Storectl.settle(stores + [late], server)
        try history.check(stores + [late])
    }

    /// `after`: what happens between the copy of the server and its being put back.
    enum After: CaseIterable, Sendable {
        /// Others push and pull.
        case othersGoOn
        /// One device pushes, and nobody has read it when it is gone.
        case onePushes
        /// It is put back, more is pushed to it, and then it is put back once more.
        case putBackTwice
    }

    @Test(arguments: After.allCases)
    func serverThatWasPutBackIsSeededByDevices(_ after: After) throws {
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
        case .othersGoOn, .putBackTwice:
            for store in stores { try history.append(7, to: store) }
            try Storectl.settle(stores, server)
        case .onePushes:
            try history.append(7, to: stores[1])
            #expect(try stores[1].sync(server.url, server).exit == 0)
        }
        try putBack(server, copy)
        if after == .putBackTwice {
            try history.append(30, to: stores[2])
            #expect(try stores[2].sync(server.url, server).exit == 0)
            try putBack(server, copy)
        }
        try history.append(3, to: stores[0])
        try Storectl.settle(stores, server)
        try history.check(stores)
    }

    private func putBack(_ server: ServeProcess, _ copy: String) throws {
        try server.kill()
        try files.removeItem(atPath: server.data)
        try files.copyItem(atPath: copy, toPath: server.data)
        try server.start()
    }

    @Test func copiedStoreAndItsSourceGoOnBesideEachOther() throws {
        let server = try ServeProcess()
        let (source, other, copy) = (
            try Storectl.empty(), try Storectl.empty(), try Storectl()
        )
        var history = SyncHistory()
        try history.append(10, to: source)
        try Storectl.settle([source, other], server)
        // Not pushed when it is copied: both have it, and both will push it.
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

    /// What a store does first when its log has been put back in place.
    enum First: CaseIterable, Sendable {
        /// It hears from the server of events of its own that it does not know.
        case syncs
        /// It writes again under names that others know already.
        case appends
        /// As before, and more than it had written under them the first time.
        case appendsMore
        /// And something was never pushed: every copy of that is gone.
        case appendsUnpushed
    }

    @Test(arguments: First.allCases)
    func logThatWasPutBackInPlaceForksNothing(_ first: First) throws {
        let server = try ServeProcess()
        let stores = try (0..<3).map { _ in try Storectl.empty() }
        let store = stores[0]
        var history = SyncHistory()
        for store in stores { try history.append(6, to: store) }
        try Storectl.settle(stores, server)
        let log = store.store + "/log.mdb"
        let copy = try Data(contentsOf: URL(fileURLWithPath: log))

        // What follows is known elsewhere when it is put back.
        for store in stores { try history.append(9, to: store) }
        try Storectl.settle(stores, server)
        // What the store shows has been folded, too.
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
