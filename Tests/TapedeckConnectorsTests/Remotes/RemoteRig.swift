import Foundation
import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import Testing

/// A simulated remote in virtual time that any number of devices can sync with.
final class RemoteWorld {
    let clock: ManualClock
    var simulator: any RemoteSimulator
    /// The requests sent to the remote, including logins.
    private(set) var requests: [RemoteRequest] = []
    /// The latency in each direction, in milliseconds.
    var latency = 20
    /// The offset of the remote's clock from the devices' clock, in milliseconds; positive if it is
    /// ahead.
    var ahead: Int64 = 0
    /// The path of the remote's URL.
    var root = ""
    /// The number of devices; each device has its own random numbers.
    fileprivate var deviceCount: UInt64 = 0
    /// Determines the faults for a request; nil to use the simulator's own faults.
    var weather: ((RemoteRequest) -> SimulatorAdversary?)?
    /// The response of an intermediary, such as a captive portal; nil to let the remote respond.
    var portal: ((RemoteRequest) -> RemoteResponse?)?

    init(clock: ManualClock = ManualClock(), _ simulator: (Int64) -> any RemoteSimulator) {
        self.clock = clock
        self.simulator = simulator(Int64(clock.milliseconds))
    }

    func send(_ request: RemoteRequest) throws(SyncFailure) -> RemoteResponse {
        requests.append(request)
        clock.advance(by: .milliseconds(latency))
        if var response = portal?(request) {
            response.headers.append(.init("Date", RemoteWorld.date(UInt64(now))))
            return response
        }
        var headers = request.headers.map { SimulatedField($0.name, $0.value) }
        headers.append(SimulatedField("Host", RemoteWorld.host))
        var body: [UInt8] = []
        switch request.body {
        case .none: break
        case .form(let fields):
            headers.append(
                SimulatedField("Content-Type", "application/x-www-form-urlencoded"))
            body = Array(RemoteRequest.encoded(fields).utf8)
        case .json(let bytes):
            headers.append(SimulatedField("Content-Type", "application/json"))
            body = bytes
        case .parts(let parts):
            headers.append(SimulatedField("Content-Type", "multipart/form-data; boundary=limit"))
            for part in parts {
                let head =
                    "--limit\r\nContent-Disposition: form-data; name=\"\(part.name)\";"
                    + " filename=\"\(part.fileName)\"\r\nContent-Type: \(part.contentType)\r\n\r\n"
                body += Array(head.utf8)
                body += FileManager.default.contents(atPath: part.path).map { Array($0) } ?? []
                body += Array("\r\n".utf8)
            }
            body += Array("--limit--\r\n".utf8)
        }
        let query = request.query.map { SimulatedField($0.name, $0.value) }
        let path = root + (request.path.removingPercentEncoding ?? request.path)
        let simulated = SimulatedRequest(
            request.method, path, query: query, headers: headers, body: body)
        let usual = simulator.adversary
        if let special = weather?(request) { simulator.adversary = special }
        let answer = simulator.respond(to: simulated, at: now)
        simulator.adversary = usual
        clock.advance(by: .milliseconds(latency))
        guard let response = answer.response else {
            throw SyncFailure(.offline, "the connection was cut")
        }
        var answered = RemoteResponse(
            status: response.status,
            headers: response.headers.map { RemoteRequest.Field($0.name, $0.value) },
            body: response.body)
        answered.headers.append(.init("Date", RemoteWorld.date(UInt64(now))))
        return answered
    }

    /// The host of the remote's URL.
    static let host = "127.0.0.1:1"

    /// The remote's time, in milliseconds since 1970.
    private var now: Int64 { Int64(clock.milliseconds) + ahead }

    static func date(_ milliseconds: UInt64) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(
            from: Date(timeIntervalSince1970: Double(milliseconds / 1_000)))
    }
}

/// The point at which a device crashes during a sync.
enum CrashPoint: Hashable, CustomStringConvertible {
    /// Before the nth request is sent.
    case before(Int)
    /// After the remote has received the nth request and before the response is recorded.
    case after(Int)

    var description: String {
        switch self {
        case .before(let number): "before request \(number)"
        case .after(let number): "after request \(number)"
        }
    }
}

/// A device with a store on disk, a login, and syncs that can be interrupted.
final class RemoteDevice {
    let place: TemporaryStore
    private(set) var store: TapedeckStore
    let world: RemoteWorld
    let remote: Remote
    private var boot = UUID().uuidString
    /// The reading of the wall clock at which the steady clock of this boot started.
    private var bootedAt: Int64 = 0
    private var random: SeededGenerator

    /// - Parameter secrets: The secrets of the login; nil for a device that is not logged in.
    init(
        _ world: RemoteWorld, _ system: String, _ secrets: RemoteSecrets? = nil,
        parts: [String] = [], seed: UInt64 = 1, root: String = ""
    ) throws {
        self.world = world
        world.root = root
        place = try TemporaryStore("remote", clock: world.clock)
        store = try place.open(projections: RemoteDevice.projections)
        random = SeededGenerator(seed: seed &+ world.deviceCount)
        world.deviceCount += 1
        remote = try StoreRemotes(store.log, store.projections).add(
            "home", system: system, url: "http://\(RemoteWorld.host)\(root)", parts: parts)
        if let secrets { try logIn(secrets) }
    }

    /// A steady clock that is not affected by changes to the wall clock.
    var steadyClock: SteadyClock {
        let (boot, bootedAt, clock) = (boot, bootedAt, world.clock)
        return SteadyClock { (boot, UInt64(Int64(clock.milliseconds) - bootedAt)) }
    }

    /// Restarts the machine.
    func reboot() throws {
        (boot, bootedAt) = (UUID().uuidString, Int64(world.clock.milliseconds))
        try restart()
    }

    /// Changes the wall clock; the remote's clock and the steady clock are not affected.
    func setClock(by change: Duration) {
        let before = Int64(world.clock.milliseconds)
        world.clock.advance(by: change)
        let moved = Int64(world.clock.milliseconds) - before
        world.ahead -= moved
        bootedAt += moved
    }

    static var projections: [any Projection] {
        VideoProjections.standard.all + Connectors.projections
    }

    /// Appends events of the user.
    @discardableResult
    func append(_ events: any Event...) throws -> EventID {
        try store.log.appendBlocking(events.map { try ProposedEvent($0) }).firstID
    }

    /// Syncs to the end and returns the report, or nil if the device crashed.
    ///
    /// - Parameters:
    ///   - refreshesAll: Whether to also request pages that are still fresh.
    ///   - failuresMax: The number of consecutive failures that end the sync.
    ///   - meanwhile: Called with the number of each request before its response arrives.
    @discardableResult
    func sync(
        crashing: CrashPoint? = nil, refreshesAll: Bool = false, failuresMax: UInt32 = 30,
        meanwhile: (Int) throws -> Void = { _ in }
    ) throws -> RemoteReport? {
        guard var session = try session(failuresMax: failuresMax, refreshesAll: refreshesAll) else {
            return nil
        }
        var step = try session.begin()
        var sent = 0
        while true {
            switch step {
            case .send(let request):
                sent += 1
                if crashing == .before(sent) { return try restart() }
                let result = Result { () throws(SyncFailure) in try world.send(request) }
                if crashing == .after(sent) { return try restart() }
                try meanwhile(sent)
                switch result {
                case .success(let response): step = try session.answered(response)
                case .failure(let failure): step = try session.failed(failure)
                }
            case .wait(let wait), .pause(let wait): step = try woken(&session, until: wait.until)
            case .idle(let until): step = try woken(&session, until: until)
            case .end: return session.report
            }
            guard sent < 10_000 else {
                throw SyncFailure(.internalError, "the sync does not end")
            }
        }
    }

    /// Syncs until no request can be sent immediately, like a sync that is interrupted after a
    /// second.
    func syncBriefly() throws {
        guard var session = try session() else { return }
        var step = try session.begin()
        while true {
            switch step {
            case .send(let request):
                step = try session.answered(try world.send(request))
            case .wait, .pause, .idle: step = try session.stop()
            case .end: return
            }
        }
    }

    /// Returns a session like the one that `sync` drives.
    func session(
        isLive: Bool = false, failuresMax: UInt32 = 30, refreshesAll: Bool = false
    ) throws -> RemoteSession? {
        guard let connector = connector() else { return nil }
        // A session must not repeat the nonces of an earlier session.
        defer { random = SeededGenerator(seed: random.next()) }
        return try RemoteSession(
            store.log, remote, connector, store.projections, outboxes: Connectors.outboxes,
            logins: logins,
            connection: Connectors.connection(with: remote, store.projections),
            options: RemoteSession.Options(
                isLive: isLive, failuresMax: failuresMax, backoffMax: 4_000),
            clock: steadyClock, refreshesAll: refreshesAll,
            random: random)
    }

    private func connector() -> (any Connector)? {
        Connectors.named(
            remote.system, url: remote.url, parts: remote.parts,
            blobs: BlobStore(store: place.directory))
    }

    /// The device's login files.
    var logins: LoginFiles { LoginFiles(store.log, store.projections) }

    /// Returns the device's login; nil if there is none or it was ended.
    func login() throws -> RemoteLogin? { try logins.read(remote) }

    /// The names of the device's login files.
    var loginFiles: [String] {
        let path = "\(place.directory)/\(LoginFiles.directoryName)"
        return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
            .filter { $0.hasSuffix(".json") }.sorted()
    }

    /// Writes another login, as `storectl login` does in another process.
    func logIn(_ secrets: RemoteSecrets) throws {
        try logins.write(
            RemoteLogin(secrets: secrets, knownEnds: try logins.knownEnds(of: remote.name)),
            for: remote)
    }

    /// Returns the status of the remote, as `storectl status` shows it.
    func status() throws -> RemoteStatus {
        try StoreRemotes(store.log, store.projections).status(remote)
    }

    private func woken(
        _ session: inout RemoteSession, until: UInt64
    ) throws -> RemoteSession.Step {
        world.clock.set(milliseconds: max(world.clock.milliseconds, until))
        return try session.woken()
    }

    /// Simulates a crash of the process, by opening the store again from its files.
    @discardableResult
    func restart() throws -> RemoteReport? {
        store.close()
        _ = random.next()
        store = try place.open(projections: RemoteDevice.projections)
        return nil
    }

    /// Returns the intents that are not complete, with their states.
    func outbox() throws -> [RemoteDelivery] {
        guard let connector = connector() else { return [] }
        var found: [RemoteDelivery] = []
        try outbox(connector).forEach { delivery, _, _ in
            found.append(delivery)
            return true
        }
        return found
    }

    /// Returns a report of what a sync would send.
    func preview() throws -> RemoteReport {
        try outbox(#require(connector())).preview()
    }

    private func outbox(_ connector: any Connector) throws -> RemoteOutbox {
        try RemoteOutbox(
            store.log, remote, connector, store.projections, outboxes: Connectors.outboxes,
            login: try logins.read(remote),
            connection: Connectors.connection(with: remote, store.projections),
            custody: CustodyBook(store.log, steadyClock))
    }

    /// Queries the store's projections.
    func query<R>(_ body: (VideoQueries<Views>) throws -> R) throws -> R {
        try store.projections.read(nil) { try body(VideoQueries($0)) }
    }

    /// Records the events of a command, and returns the id of the first; nil if there are none.
    @discardableResult
    func decide(_ command: (VideoQueries<Views>) throws -> [any Event]) throws -> EventID? {
        let events = try query(command)
        guard !events.isEmpty else { return nil }
        return try store.log.appendBlocking(events.map { try ProposedEvent($0) }).firstID
    }

    /// Returns the videos on the watch-later list.
    func watchLater() throws -> [String] {
        try store.projections.read(nil) {
            try VideoQueries($0).watchLater(limit: 500).videos.map(\.key)
        }
    }
}

/// Copies the events of each device to the other devices.
func exchange(_ devices: RemoteDevice...) throws {
    let files = try TemporaryStore("files")
    for (number, from) in devices.enumerated() {
        let file = files.path("events-\(number)")
        try from.store.log.export(to: file)
        for to in devices where to !== from { _ = try to.store.log.importEvents(from: file) }
    }
}

/// Records a sign-in, as `storectl login` does in another process.
func signIn(_ account: String, on device: RemoteDevice) throws {
    let (origin, system) = (device.store.log.origin, device.remote.system)
    try device.decide { try SignIn(account, at: system).decide($0, on: origin) }
}

/// Returns the account of a device's login.
func account(of device: RemoteDevice) throws -> String {
    try #require(try device.login()?.account?.user)
}
