import Tapedeck
import TapedeckConnectors
@testable import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// An upload that the remote has silently lost is sent again after its settling time, even if no
/// sync lasts as long as the settling time.
@Suite(.offTasks) struct UploadSettlingTests {
    /// The disturbances before each sync.
    enum Disturbance: CaseIterable {
        case onlyTheFirstReboot, reboots, clockSetBack, clockSetForward
        case rebootsAndClockSetsInTurn
    }

    private let desk: WhaleDesk
    private let counter = UploadCounter()

    init() throws {
        desk = try WhaleDesk()
        try desk.device.sync()
        counter.loseFirst(of: desk.world)
        try desk.answer("4")
        try desk.device.syncBriefly()
        #expect(counter.count == 1)
    }

    private func disturb(_ disturbance: Disturbance, _ minute: Int) throws {
        switch disturbance {
        case .onlyTheFirstReboot: if minute == 1 { try desk.device.reboot() }
        case .reboots: try desk.device.reboot()
        case .clockSetBack: desk.device.setClock(by: .seconds(-7_200))
        case .clockSetForward: desk.device.setClock(by: .seconds(3_600))
        case .rebootsAndClockSetsInTurn:
            if minute % 2 == 0 { return try desk.device.reboot() }
            desk.device.setClock(by: .seconds(-7_200))
        }
    }

    private var sightRows: [SyncRow] {
        get throws { try desk.device.store.log.syncRows(prefix: RemoteRow.sightPrefix("home")) }
    }

    @Test(arguments: Disturbance.allCases)
    func shortSyncsSettleAnUpload(_ disturbance: Disturbance) throws {
        var minutes = 0
        while counter.count == 1, minutes < 30 {
            minutes += 1
            try disturb(disturbance, minutes)
            desk.world.clock.advance(by: .seconds(60))
            try desk.device.syncBriefly()
        }
        #expect(counter.count == 2)
        // The upload may still arrive within 10 minutes of its dispatch. The first sync after the
        // disturbance starts the settling time, and one more sync may be needed.
        #expect((10...13).contains(minutes))
        try desk.settle()
        #expect(desk.effects == ["answerUploaded 4 "])
        #expect(try desk.device.outbox().isEmpty)
        #expect(try sightRows.isEmpty)
    }

    @Test func endedDispatchesAreForgotten() throws {
        try desk.device.reboot()
        try desk.device.syncBriefly()
        #expect(try sightRows.count == 1)
        let delivery = try #require(try desk.device.outbox().first)
        let remotes = StoreRemotes(desk.device.store.log, desk.device.store.projections)
        _ = try remotes.drop(delivery.event.id)
        try desk.device.syncBriefly()
        #expect(try sightRows.isEmpty)
    }
}

/// Counts uploads, and makes the remote lose the first one after it has accepted it.
private final class UploadCounter {
    private(set) var count = 0

    func loseFirst(of world: RemoteWorld) {
        var lossy = SimulatorAdversary.none
        lossy.uploadLossRate = 1
        world.weather = { [self, lossy] request in
            guard case .parts = request.body else { return nil }
            count += 1
            return count == 1 ? lossy : nil
        }
    }
}
