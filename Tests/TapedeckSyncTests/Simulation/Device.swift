import Foundation
import TapedeckLog
import TapedeckModel
import TapedeckProjections
@testable import TapedeckServer
@testable import TapedeckSync
import TapedeckSyncProtocol

/// A device in a simulation: a real store and the engine's own session, driven in virtual time.
///
/// Only one thread uses the device, but the log requires a `Sendable` clock.
final class Device: @unchecked Sendable {
    let name: String
    let path: String
    unowned let world: Simulation
    var skew: Int64
    /// Whether messages to the server and from the server are lost.
    var isCutOff = (up: false, down: false)
    private(set) var log: EventLog?
    private(set) var projections: ProjectionRunner?
    private var session: SyncSession?
    private(set) lazy var board = BoardClient(self)
    /// Incremented at every start, so that responses to an earlier run are ignored.
    private var life = 0
    /// The number of the pending request.
    private var request = 0
    /// The number of the current timer or live connection.
    private var wait = 0
    private var isListening = false
    var appendsAgain = false
    private var lastAppend: UInt64?
    /// The value of `serverLife` at the last handshake.
    private var shakenLife = -1

    init(_ name: String, in world: Simulation, skew: Int64) {
        self.name = name
        self.world = world
        self.skew = skew
        path = "\(world.base)/\(name)"
    }

    var isUp: Bool { log != nil }
    var isSettled: Bool { session?.state.phase == .settled }
    private var isPolling: Bool {
        if case .polling = session?.state.phase { true } else { false }
    }
    var phaseText: String { session.map { "\($0.state.phase)" } ?? "down" }
    /// The latest time that the device's clock has shown.
    private(set) var latestTime: UInt64 = 0
    var time: UInt64 {
        let time = UInt64(max(1, Int64(world.now) + skew))
        latestTime = max(latestTime, time)
        return time
    }

    /// A steady clock that is not affected by changes to the device's wall clock.
    var steadyClock: SteadyClock {
        let (clock, name) = (world.clock, name)
        return SteadyClock { (name, clock.steady) }
    }

    func hasSeen(head: UInt64) -> Bool { session?.upstream.cursor?.position ?? 0 == head }

    // MARK: - Life

    /// Takes over the clock of the device from which this device was copied.
    func inherit(_ other: Device) { latestTime = other.latestTime }

    func startUp() throws {
        try openAlone()
        guard let opened = log else { return }
        world.say(name, "starts as \(opened.origin.short)")
        if appendsAgain, let lastAppend {
            appendsAgain = false
            try record(lastAppend)
        }
        session = try SyncSession(
            opened, upstream: "server",
            options: .init(isLive: true, failuresMax: 0, backoffMax: 10_000),
            clock: steadyClock, random: world.random)
        try step { try $0.begin() }
        if world.options.hasBoard { board.plan() }
    }

    /// Opens the store without syncing.
    func openAlone() throws {
        var options = EventLog.Options(
            mapSizeBytes: 64 << 20, now: { [unowned self] in self.time })
        let clock = world.clock
        options.randomID = { OriginID(high: clock.random.next(), low: clock.random.next()) }
        let opened =
            FileManager.default.fileExists(atPath: path)
            ? try EventLog(opening: path, options: options)
            : try EventLog.create(path, options: options)
        log = opened
        var kept: [any Projection] = world.options.folds ? [NoteOrder()] : []
        if world.options.compacts { kept.append(LastTick()) }
        if world.options.hasBoard { kept += BoardConnector.outboxes + [FeedCoverage(), Remotes()] }
        if !kept.isEmpty { projections = ProjectionRunner(opened, projections: kept) }
        life += 1
    }

    func shutDown() {
        session = nil
        board.die()
        projections?.close()
        projections = nil
        log?.close()
        log = nil
        life += 1
        isListening = false
    }

    // MARK: - Appends

    func append() throws {
        if world.options.compacts { try tick() }
        let payload = world.nextPayload
        world.nextPayload += 1
        try record(payload)
        world.required.insert(payload)
        lastAppend = payload
        try logChanged()
    }

    /// Records some events, most of which are soon superseded.
    private func tick() throws {
        guard let log else { return }
        let ticks = try (0..<world.random.below(6)).map { _ in
            world.nextTick += 1
            return ProposedEvent(
                type: LastTick.ticked, tags: [try Tag("clock", "\(world.random.below(2))")],
                payload: Array("t\(world.nextTick)".utf8))
        }
        if !ticks.isEmpty { try log.appendBlocking(ticks) }
    }

    /// Removes superseded events whose compaction the servers permit.
    private func compact() throws {
        guard let log, let projections else { return }
        let report = try projections.compact(
            LastTick.rule(isSettled: try Upstream.settlement(in: log)), blockCount: 8)
        guard report.removed > 0 else { return }
        world.removed += report.removed
        world.say(name, "compacts \(report.removed) events to \(report.stubs)")
    }

    /// Records an intent for the board.
    func wish() throws {
        guard let log else { return }
        let text = "w\(world.wishes.count + 1)"
        let kind = ["PostWanted", "PostWanted", "ShoutWanted", "FlagWanted"][world.random.below(4)]
        world.wishes.append((kind, text))
        let done = try log.appendBlocking([
            ProposedEvent(
                type: try EventType(kind), tags: [try Tag("wall", "\(world.random.below(3))")],
                payload: Array(text.utf8))
        ])
        world.say(name, "wants \(kind) \(text) as \(done.firstID.short)")
        try logChanged()
    }

    /// Notifies the session with the server that an event was appended.
    func logChanged() throws {
        guard isSettled || isPolling else { return }
        try step { try $0.localChanged() }
    }

    private func record(_ payload: UInt64) throws {
        guard let log else { return }
        var at: UInt64?
        if world.options.planted == .clockFollowsStamps {
            // The planted bug: the clock adopts every stamp that it sees.
            let latest = try log.events(after: .start, limit: 10_000).map(\.stamp.milliseconds)
                .max()
            at = max(latest ?? 0, time) + 1
        }
        let done = try log.appendBlocking([
            ProposedEvent(
                type: "Noted", tags: [try Tag("note", "\(payload % 7)")], atMilliseconds: at,
                payload: Array("\(payload)".utf8))
        ])
        world.say(name, "appends \(payload) as \(done.firstID.short)")
        world.checkStamp(of: done.firstID, by: self)
    }

    // MARK: - The session

    /// Runs `body` on the session and performs the returned step.
    private func step(_ body: (inout SyncSession) throws -> SyncSession.Step) throws {
        guard var current = session else { return }
        if world.options.folds, world.random.oneIn(10) { try projections?.read(nil) { _ in } }
        if world.options.compacts, world.random.oneIn(8) { try compact() }
        session = nil
        if world.options.planted == .receiptsNotSeeded {
            // Pretend that all receipts have already been pushed.
            current.upstream.seedPlace = nil
        }
        let next = try body(&current)
        if world.options.planted == .receiptsNotSeeded { current.upstream.seedPlace = nil }
        session = current
        switch next {
        case .none: break
        case .send(let request): send(request)
        case .wait(let waiting):
            world.say(name, "waits: \(waiting.reason)")
            guard world.options.planted != .waitWithoutTimer else { return }
            let deviceTime = time
            arm(after: waiting.until > deviceTime ? waiting.until - deviceTime : 1) {
                try $0.woken()
            }
        case .listen:
            world.checkSettled(self, shakenLife)
            listen()
        case .end(let failure):
            world.failure =
                world.failure ?? "invariant 4: \(name) gave up: \(String(describing: failure))"
        }
    }

    private func arm(
        after delay: UInt64, _ body: @escaping (inout SyncSession) throws -> SyncSession.Step
    ) {
        wait += 1
        let (armed, life) = (wait, life)
        world.schedule(after: delay) { [self] in
            guard self.life == life, wait == armed else { return }
            try step(body)
        }
    }

    /// Opens a live connection, which reports heads but is interrupted from time to time.
    private func listen() {
        guard !isListening else { return }
        isListening = true
        let life = life
        poll(life)
        world.schedule(after: 5_000 + world.random.below(UInt64(60_000))) { [self] in
            guard self.life == life, isListening else { return }
            isListening = false
            guard isSettled, !world.areFaultsOver else {
                isListening = isSettled
                return
            }
            world.say(name, "loses its live connection")
            try step { try $0.liveEnded(SyncFailure(.offline, "the live connection ended")) }
        }
    }

    private func poll(_ life: Int) {
        world.schedule(after: 200 + world.random.below(UInt64(300))) { [self] in
            guard self.life == life, isListening else { return }
            if !isCutOff.down, isSettled {
                let head = world.serverHead
                if head > session?.state.head ?? 0 {
                    try step { try $0.serverChanged(head: head) }
                }
            }
            poll(life)
        }
    }

    /// Interrupts a connection that appears to be working, as happens when a network recovers.
    func nudge() throws {
        guard isUp else { return }
        switch session?.state.phase {
        case .settled: try step { try $0.failed(SyncFailure(.offline, "a new connection")) }
        case .waiting, .polling: try step { try $0.woken() }
        default: break
        }
    }

    // MARK: - The network

    private static let timeout: UInt64 = 15_000

    private func send(_ message: SyncRequest) {
        request += 1
        wait += 1
        let (number, life) = (request, life)
        world.say(name, "sends \(message.summary)")
        let isLost = { [world] in
            !world.areFaultsOver && world.random.below(UInt64(100)) < world.options.lossPercent
        }
        if world.options.planted == .sentCountsAsDelivered, case .push(let push) = message {
            world.schedule(after: 1) { [self] in
                guard self.life == life, request == number else { return }
                try receive(.success(.push(world.fabricate(push))), shakenLife)
            }
            return
        }
        if world.options.planted == .statusLies, case .push = message {
            world.checkSettled(self, shakenLife)
        }
        // The message arrives once or, as with some proxies, twice.
        let isTwice =
            !world.areFaultsOver
            && world.random.below(UInt64(100)) < world.options.duplicatePercent
        for _ in 0..<(isTwice ? 2 : 1) {
            if isCutOff.up || isLost() { continue }
            world.schedule(after: delay()) { [self] in
                let answer = world.answer(message)
                let answeredLife = world.serverLife
                if isCutOff.down || isLost() { return }
                world.schedule(after: delay()) { [self] in
                    guard self.life == life, request == number else { return }
                    try receive(answer, answeredLife)
                }
            }
        }
        world.schedule(after: Device.timeout) { [self] in
            guard self.life == life, request == number else { return }
            request += 1
            try step { try $0.failed(SyncFailure(.offline, "no answer")) }
        }
    }

    private func delay() -> UInt64 { 1 + world.random.below(world.options.delayMax) }

    private func receive(
        _ answer: Result<SyncResponse, SyncFailure>, _ answeredLife: Int
    ) throws {
        request += 1
        switch answer {
        case .success(let response):
            world.say(name, "gets \(response.summary)")
            if case .handshake = response { shakenLife = answeredLife }
            let planted = plant(response)
            try step { try $0.answered(planted) }
        case .failure(let failure):
            world.say(name, "gets \(failure.code)")
            try step { try $0.failed(failure) }
        }
    }

    // MARK: - Planted bugs

    private func plant(_ response: SyncResponse) -> SyncResponse {
        switch (world.options.planted, response) {
        case (.cursorBeforeEvents, .pull(let page)) where !page.receivedAt.isEmpty:
            // The cursor advances past the page, but its events are not recorded.
            guard world.random.oneIn(3) else { return response }
            skip(page)
            var empty = page
            (empty.receivedAt, empty.entries, empty.refusals) = ([], .init(), [])
            empty.head = page.head
            return .pull(empty)
        case (.adoptsRollback, .handshake(let answer)):
            if let cursor = session?.upstream.cursor, cursor.position > answer.head {
                session?.upstream.cursor = world.cursor(at: answer.head)
                session?.upstream.acknowledged = [:]
            }
            return response
        default: return response
        }
    }

    private func skip(_ page: WirePullResponse) {
        guard var cursor = session?.upstream.cursor else { return }
        let entries = [UInt8](page.entries)
        var isComplete = true
        entries.withUnsafeBytes { bytes in
            var reader = SyncEntryReader(bytes)
            for receivedAt in page.receivedAt {
                guard let entry = reader.next(), entry.kind != .reference else {
                    isComplete = false
                    return
                }
                cursor.position += 1
                let refusal = page.refusals.first { $0.position == cursor.position }?.code
                cursor.digest.add(
                    position: cursor.position, receivedAt: Stamp(rawValue: receivedAt),
                    refusal: refusal, kind: entry.kind, entry.body)
            }
        }
        if isComplete { session?.upstream.cursor = cursor }
    }

    // MARK: - Files

    /// Returns the bytes of the store's file.
    func files() -> Data? { FileManager.default.contents(atPath: path + "/log.mdb") }

    /// Writes a backup into the same file, so that the file keeps its identity.
    func restore(_ backup: Data) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path + "/log.mdb"))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: backup)
        try file.close()
    }
}

extension OriginID {
    var short: String { String(description.prefix(4)) }
}

extension EventID {
    var short: String { "\(origin.short)-\(sequence)" }
}

extension SyncRequest {
    var summary: String {
        switch self {
        case .handshake: "handshake"
        case .lineage: "lineage"
        case .push(let push): "push of \(push.entries.count) bytes"
        case .pull(let pull): "pull after \(pull.cursor.position)"
        }
    }
}

extension SyncResponse {
    var summary: String {
        switch self {
        case .handshake(let answer): "handshake: head \(answer.head)"
        case .push(let answer):
            "push: \(answer.positions.count) done, \(answer.fresh) fresh"
                + (answer.hasProblem ? ", \(answer.problem.kind)" : "")
        case .pull(let answer): "pull: \(answer.receivedAt.count) from \(answer.firstPosition)"
        }
    }
}
