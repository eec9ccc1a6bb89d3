/// BirdTube's server: YouTube videos submitted by users, and the bridge to their chats.
///
/// The simulator reproduces these quirks of the real system:
///
/// - All requests are `POST` with JSON. All responses have status 200, including errors.
/// - Lists are paged by an offset and end with an empty page. Lists have no tie-break, and each
///   view can change the order of the popular list.
/// - Every report of a view adds one view. The response is `{}`, even for an unknown video.
/// - A video can be submitted only once; submitting it again is an error.
/// - An unknown session is reported only as a failure to register the video.
/// - The owner of a video is a number that no route can look up.
///
/// SendBird's chat protocol is not public, so the two chat routes were designed for Tapedeck
/// (`hasBridge`). A page of messages may exceed the limit, because a page never ends between
/// messages with the same time. A message that is sent twice is stored twice.
public struct BirdTubeSimulator: RemoteSimulator, SimulatorEngine {
    /// The system's data; tests may change it at any time.
    public var world: BirdTubeWorld
    /// Whether the server has the two chat routes.
    public var hasBridge = true
    /// Whether the response to a rejected login has status 500, as in the system's sample code.
    public var stumblesOverRefusals = false
    var core: SimulatorCore
    /// The users who have signed in to this server; the simulator never acts on their behalf.
    private var signedIn: Set<Int64> = []

    /// Creates a simulator with the given world.
    public init(world: BirdTubeWorld, seed: UInt64 = 0, adversary: SimulatorAdversary = .none) {
        self.world = world
        core = SimulatorCore(seed: seed, adversary: adversary)
    }

    /// Creates a simulator with a world generated as of `now`.
    public init(seed: UInt64, at now: Int64, adversary: SimulatorAdversary = .none) {
        self.init(world: BirdTubeWorld(seed: seed, at: now), seed: seed, adversary: adversary)
    }

    /// The requests that the system's API description does not cover.
    public var violations: [SimulatorViolation] { core.violations }
    /// The writes that took effect, in order.
    public var effects: [SimulatorEffect] { core.effects }

    /// The injected faults.
    public var adversary: SimulatorAdversary {
        get { core.adversary }
        set { core.adversary = newValue }
    }

    /// Handles a request that arrives at `now`, in milliseconds since 1970.
    public mutating func respond(to request: SimulatedRequest, at now: Int64) -> SimulatedAnswer {
        take(request, at: now)
    }

    /// Performs the actions of other users until `now`.
    public mutating func advance(to now: Int64) { pass(until: now) }

    /// Does nothing, because BirdTube sessions never expire.
    public mutating func expireTokens() {}

    // MARK: - Routes

    mutating func route(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        switch (request.method, request.path) {
        case ("POST", "/signup"): return try signUp(request, now)
        case ("POST", "/signin"): return try signIn(request)
        case ("POST", "/video/register"): return try register(request, now)
        case ("POST", "/video/list"): return try list(request)
        case ("POST", "/video/view"): return try view(request, now)
        case ("POST", "/channel/messages"):
            return hasBridge ? try messages(request) : .empty(404)
        case ("POST", "/channel/send"):
            return hasBridge ? try send(request, now) : .empty(404)
        default: throw .route
        }
    }

    static func success(_ members: KeyValuePairs<String, SimulatedJSON> = [:]) -> SimulatedResponse
    {
        .json(200, (["result": "success"] as SimulatedJSON).adding(members))
    }

    static func error(_ message: String) -> SimulatedResponse {
        .json(200, ["result": "error", "message": .text(message)])
    }

    // MARK: - Accounts

    private static let devices = ["device_token", "device_type"]

    private mutating func signUp(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let fields = try SimulatedObject(
            request, required: ["email", "nickname", "password"] + Self.devices)
        let email = try fields.text("email")
        guard !world.users.contains(where: { $0.email == email }) else {
            return Self.error("The email exists.")
        }
        let user = world.insertUser(
            email: email, nickname: try fields.text("nickname"),
            password: try fields.text("password"), at: now)
        signedIn.insert(user.id)
        core.note(.signUp, String(user.id), by: String(user.id), detail: user.nickname, at: now)
        return Self.success(["user": world.document(user)])
    }

    private mutating func signIn(
        _ request: SimulatedRequest
    ) throws(OutsideTables) -> SimulatedResponse {
        let fields = try SimulatedObject(
            request, required: ["email", "password"] + Self.devices)
        let (email, password) = (try fields.text("email"), try fields.text("password"))
        func refused(_ message: String) -> SimulatedResponse {
            stumblesOverRefusals ? SimulatorCore.brokenAnswer : Self.error(message)
        }
        guard let user = world.users.first(where: { $0.email == email }) else {
            return refused("User not found.")
        }
        guard user.password == password else { return refused("Password is incorrect.") }
        signedIn.insert(user.id)
        return Self.success(["user": world.document(user)])
    }

    // MARK: - Other users

    mutating func pass(until now: Int64) {
        for time in core.deeds(until: now) { happen(at: time) }
    }

    /// Lets a user who has never signed in to this server submit or view a video, or post or hide a
    /// message.
    private mutating func happen(at now: Int64) {
        let removes = core.fate.chance(core.adversary.deletionRate)
        let ties = core.fate.chance(core.adversary.tieRate)
        let deed: Int = core.fate.below(10)
        let own = signedIn.union(world.users.prefix(1).map(\.id))
        let others = world.users.filter { !own.contains($0.id) }
        guard !others.isEmpty else { return }
        let user = core.fate.pick(others)
        if deed == 0 || world.videos.isEmpty {
            let newest = world.videos.map(\.createdAt).max()
            return world.handIn(
                by: user.id, at: core.date(at: now, newest: newest), &core.fate)
        }
        let video = core.fate.below(world.videos.count)
        guard deed > 4 else {
            world.videos[video].viewer += 1
            return
        }
        let channel = world.videos[video].channel
        let said = world.messages.indices.filter {
            world.messages[$0].channel == channel && world.messages[$0].tempID.isEmpty
        }
        if removes, let last = said.last {
            world.messages[last].isBlocked.toggle()
        } else {
            let newest = world.messages.filter { $0.channel == channel }.map(\.at).max() ?? now
            world.remark(in: channel, by: user, at: ties ? newest : max(newest, now), &core.fate)
        }
    }
}
