import Foundation
import TapedeckTesting

extension Simulation {
    func planFaults() {
        func often(_ count: Int, _ what: @escaping () throws -> Void) {
            for _ in 0..<count { schedule(after: random.below(options.faultsUntil), what) }
        }
        often(options.crashes) { [self] in try crash(devices[random.below(devices.count)]) }
        often(options.partitions) { [self] in partition() }
        often(options.clockJumps) { [self] in
            let device = devices[random.below(devices.count)]
            device.skew = skew()
            say(device.name, "clock is off by \(device.skew / 1_000) s")
        }
        often(options.copies) { [self] in try copy(devices[random.below(devices.count)]) }
        often(options.restores) { [self] in planRestore() }
        often(options.serverWipes) { [self] in
            say("server", "is wiped")
            server.wipe()
            serverLife += 1
            try forgetLostPayloads()
        }
        often(options.serverRollbacks) { [self] in
            let image = server.image
            say("server", "is backed up at \(serverHead)")
            schedule(after: 1 + random.below(40_000)) { [self] in
                guard !areFaultsOver else { return }
                say("server", "is restored from its backup; the head was \(serverHead)")
                server.restore(image)
                serverLife += 1
                try forgetLostPayloads()
            }
        }
    }

    private func crash(_ device: Device) throws {
        guard device.isUp else { return }
        say(device.name, "crashes")
        device.shutDown()
        if options.planted == .appendsAgainAfterCrash { device.appendsAgain = true }
        schedule(after: 1 + random.below(8_000)) { if !device.isUp { try device.startUp() } }
    }

    private func partition() {
        let device = devices[random.below(devices.count)]
        let kind = random.below(3)
        device.isCutOff = (kind != 1, kind != 0)
        say("net", "cuts \(device.name) off: \(["up", "down", "both ways"][kind])")
        schedule(after: 1_000 + random.below(30_000)) { [self] in
            device.isCutOff = (false, false)
            say("net", "joins \(device.name)")
        }
    }

    /// Copies a store's directory, which becomes a new device.
    private func copy(_ device: Device) throws {
        let wasUp = device.isUp
        if wasUp { device.shutDown() }
        let twin = Device("c\(devices.count)", in: self, skew: skew())
        try FileManager.default.copyItem(atPath: device.path, toPath: twin.path)
        say(device.name, "is copied to \(twin.name)")
        twin.inherit(device)
        devices.append(twin)
        if wasUp { try device.startUp() }
        try twin.startUp()
    }

    /// Backs up a store and later restores the backup in place.
    private func planRestore() {
        let device = devices[random.below(devices.count)]
        guard device.isUp else { return }
        device.shutDown()
        guard let backup = device.files() else { return }
        try? device.startUp()
        say(device.name, "is backed up")
        schedule(after: 1 + random.below(40_000)) { [self] in
            guard !areFaultsOver else { return }
            device.shutDown()
            say(device.name, "is restored from its backup")
            try device.restore(backup)
            try forgetLostPayloads()
            try device.startUp()
        }
    }

    /// Removes the payloads from `required` that are in no store and not on the server.
    private func forgetLostPayloads() throws {
        var left: Set<UInt64> = []
        for device in devices { left.formUnion(try device.payloads()) }
        left.formUnion(try serverPayloads())
        let gone = required.subtracting(left)
        if !gone.isEmpty { say("fate", "every copy of \(gone.sorted()) is lost") }
        required.formIntersection(left)
    }
}
