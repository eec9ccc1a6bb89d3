import Foundation
import TapedeckLog
import TapedeckModel
import TapedeckProjections
@testable import TapedeckSync
import TapedeckTesting

/// A device's session with the board, which runs alongside its session with the server.
final class BoardClient {
    unowned let device: Device
    private var session: RemoteSession?
    /// The number of the current request, timer or session; results for earlier numbers are
    /// ignored.
    private var number = 0

    private static let timeout: UInt64 = 15_000

    init(_ device: Device) { self.device = device }

    private var world: Simulation { device.world }

    /// Simulates the end of the process.
    func die() {
        session = nil
        number += 1
    }

    /// Schedules the next session after a random delay.
    func plan() {
        number += 1
        let planned = number
        world.schedule(after: 500 + world.random.below(UInt64(6_000))) { [self] in
            guard number == planned, device.isUp else { return }
            try begin()
        }
    }

    private func begin() throws {
        guard let log = device.log, let runner = device.projections else { return }
        let world = world
        let remote = try Remote(checking: "board", system: "board", url: "http://127.0.0.1:1")
        let logins = LoginFiles(log, runner)
        if try logins.read(remote) == nil {
            try logins.write(RemoteLogin(secrets: RemoteSecrets()), for: remote)
        }
        session = try RemoteSession(
            log, remote, BoardConnector(), runner, outboxes: BoardConnector.outboxes,
            logins: logins,
            connection: RemoteConnection(
                account: { nil }, signIns: { SignIns([]) }, remote: { remote },
                connector: { _ in nil }),
            options: .init(failuresMax: 5, backoffMax: 4_000),
            clock: device.steadyClock, random: world.random)
        try step { try $0.begin() }
    }

    private func step(_ body: (inout RemoteSession) throws -> RemoteSession.Step) throws {
        guard var current = session else { return }
        let before = try device.log?.currentHead()
        let next = try body(&current)
        session = current
        if try device.log?.currentHead() != before { try device.logChanged() }
        // The process may have ended while it wrote to the log.
        guard session != nil else { return }
        switch next {
        case .send(let request): send(request)
        case .wait(let wait), .pause(let wait): arm(until: wait.until)
        case .idle(let until): arm(until: until)
        case .end:
            session = nil
            plan()
        }
    }

    private func arm(until: UInt64) {
        number += 1
        let armed = number
        let now = device.time
        // The wait is limited, because the device's clock may be set during the wait.
        let wait = until > now ? min(until - now, 60_000) : 1
        world.schedule(after: wait) { [self] in
            guard number == armed else { return }
            try step { try $0.woken() }
        }
    }

    private func send(_ request: RemoteRequest) {
        number += 1
        let sent = number
        let world = world
        world.say(device.name, "asks the board: \(request.method) \(request.path) \(request.body)")
        func isLost() -> Bool {
            !world.areFaultsOver && world.random.below(UInt64(100)) < world.options.lossPercent
        }
        func delay() -> UInt64 { 1 + world.random.below(world.options.delayMax) }
        if !device.isCutOff.up, !isLost() {
            // The request arrives even if the device has crashed.
            world.schedule(after: delay()) { [self] in
                let response = world.board.answer(request)
                if device.isCutOff.down || isLost() { return }
                world.schedule(after: delay()) { [self] in
                    guard number == sent else { return }
                    number += 1
                    try step { try $0.answered(response) }
                }
            }
        }
        world.schedule(after: BoardClient.timeout) { [self] in
            guard number == sent else { return }
            number += 1
            var failure = SyncFailure(.offline, "no answer")
            failure.isUnsent = world.options.planted == .cutCountsAsUnsent
            try step { try $0.failed(failure) }
        }
    }

    /// Returns the intents that are not complete.
    func outbox() throws -> [RemoteDelivery] {
        guard let log = device.log, let runner = device.projections else { return [] }
        let remote = try Remote(checking: "board", system: "board", url: "http://127.0.0.1:1")
        var found: [RemoteDelivery] = []
        try RemoteOutbox(
            log, remote, BoardConnector(), runner, outboxes: BoardConnector.outboxes,
            login: RemoteLogin(
                secrets: RemoteSecrets(), account: RemoteAccount(user: "me", token: "t")),
            connection: RemoteConnection(
                account: { nil }, signIns: { SignIns([]) }, remote: { remote },
                connector: { _ in nil })
        ).forEach { delivery, _, _ in
            found.append(delivery)
            return true
        }
        return found
    }
}

extension Simulation {
    /// Records an intent for the board on a random device.
    func wishSomewhere() throws {
        let up = devices.filter(\.isUp)
        guard !up.isEmpty else { return }
        try up[random.below(up.count)].wish()
    }

    /// Checks invariant 8: every intent for the board took effect once.
    ///
    /// If the outcome of an intent cannot be determined, the intent took effect at most once and is
    /// reported as unknown.
    func checkBoard() throws {
        guard options.hasBoard else { return }
        var unknown: Set<String> = []
        for device in devices {
            for delivery in try device.board.outbox() {
                let text = String(decoding: delivery.event.payload, as: UTF8.self)
                guard case .unknown = delivery.state, delivery.event.type == "ShoutWanted" else {
                    return violate(
                        8, "\(device.name) has not delivered \(text): \(delivery.state)")
                }
                unknown.insert(text)
            }
        }
        let posted = Dictionary(grouping: board.posts, by: \.text).mapValues(\.count)
        for wish in wishes {
            switch wish.kind {
            case "PostWanted":
                let count = posted[wish.text] ?? 0
                if count != 1 { violate(8, "\(wish.text) was posted \(count) times") }
            case "ShoutWanted":
                let count = board.shouts[wish.text] ?? 0
                if count > 1 { violate(8, "\(wish.text) was shouted \(count) times") }
                if count == 0, !unknown.contains(wish.text) {
                    violate(8, "\(wish.text) was never shouted and is not reported as unknown")
                }
            default: break
            }
        }
    }
}
