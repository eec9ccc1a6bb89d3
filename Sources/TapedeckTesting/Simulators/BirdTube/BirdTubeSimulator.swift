/// BirdTube's server: videos of YouTube that users hand in, and the bridge to the chats beside them.
///
/// Traps, each as the system has it: all is a `POST` with JSON and answered with 200, errors too; lists are
/// paged by an offset and end with an empty page; they have no tie-break, and each view moves the popular one;
/// a view counts as often as it is told and is answered `{}`, whatever it was of; a video is there once, and
/// handing it in again is an error; so is a session that is not known, and says no more than that the video
/// cannot be registered; an owner is a number that no route explains.
///
/// The two routes of chats are not SendBird's, whose protocol is not public, but Tapedeck's own
/// (`hasBridge`): a page of messages may hold more than was asked for, so that it does not end among messages
/// of one time; a message that is sent twice is there twice.
public struct BirdTubeSimulator: RemoteSimulator, SimulatorEngine {
    /// What the system holds; tests may change it at any time.
    public var world: BirdTubeWorld
    /// Whether the server gives the two routes of chats.
    public var hasBridge = true
    /// Whether a login that is to be refused is answered with 500, as the system's sample does.
    public var stumblesOverRefusals = false
    var core: SimulatorCore
    /// Who has signed in here: what they do is theirs to do.
    private var signedIn: Set<Int64> = []

    /// Makes a system with a world made by hand.
    public init(world: BirdTubeWorld, seed: UInt64 = 0, adversary: SimulatorAdversary = .none) {
        self.world = world
        core = SimulatorCore(seed: seed, adversary: adversary)
    }

    /// Makes a system with a made-up world as of `now`.
    public init(seed: UInt64, at now: Int64, adversary: SimulatorAdversary = .none) {
        self.init(world: BirdTubeWorld(seed: seed, at: now), seed: seed, adversary: adversary)
    }

    /// Requests that the described system does not know.
    public var violations: [SimulatorViolation] { core.violations }
    /// Every write that took effect, in order.
    public var effects: [SimulatorEffect] { core.effects }

    /// How the system makes life hard.
    public var adversary: SimulatorAdversary {
        get { core.adversary }
        set { core.adversary = newValue }
    }

    /// Takes a request at a time, in Unix milliseconds.
    public mutating func respond(to request: SimulatedRequest, at now: Int64) -> SimulatedAnswer {
        take(request, at: now)
    }

    /// Lets others do what they do until `now`.
    public mutating func advance(to now: Int64) { pass(until: now) }

    /// Nothing: a session of BirdTube never ends.
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

    // MARK: - Others

    mutating func pass(until now: Int64) {
        for time in core.deeds(until: now) { happen(at: time) }
    }

    /// Somebody who has not signed in here hands a video in, opens one, says something or hides it.
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
