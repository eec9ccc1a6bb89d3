/// The 2012–2014 Shelby system: API v1, with `auth_token` as a parameter.
///
/// The simulator reproduces these quirks of the real system:
///
/// - Lists are ordered by id, newest first.
/// - `since_id` selects the row with that id and older rows, so a page repeats the last row of the
///   previous page.
/// - `skip` counts from the newest row, and that row changes between requests.
/// - A dashboard request without a known token gets HTTP 404 with a body that gives the status as
///   401.
/// - `created_at` is a string for display.
/// - A rejected login gets the status 404, and some 403 responses have an object as their message.
/// - A repeated like is counted again and creates another copy.
/// - An unlike removes the copy, but only from its roll.
/// - A view is counted once in 24 hours, and only with a start and an end; a completed view and a
///   visit are counted every time.
/// - Copies share a conversation.
/// - Joined objects may be null.
public struct ShelbyV1Simulator: RemoteSimulator, SimulatorEngine {
    /// The system's data; tests may change it at any time.
    public var world: ShelbyV1World
    var core: SimulatorCore
    var access = ShelbyV1Access()

    /// The number of rows in a list if the request sets no limit.
    static let limitDefault = 20
    /// The maximum number of rows in a list.
    static let limitMax = 500

    /// Creates a simulator with the given world.
    public init(world: ShelbyV1World, seed: UInt64 = 0, adversary: SimulatorAdversary = .none) {
        self.world = world
        core = SimulatorCore(seed: seed, adversary: adversary)
    }

    /// Creates a simulator with a world generated as of `now`, with `count` entries on the account's
    /// dashboard.
    public init(
        seed: UInt64, at now: Int64, entries count: Int = ShelbyV1World.madeEntries,
        adversary: SimulatorAdversary = .none
    ) {
        self.init(
            world: ShelbyV1World(seed: seed, at: now, entries: count), seed: seed,
            adversary: adversary)
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

    /// Invalidates every token.
    public mutating func expireTokens() { world.tokens = [:] }

    // MARK: - Routes

    /// A request with its decoded path and parameters.
    struct Call {
        var id = ""
        var parameters: SimulatedParameters
        var user: ShelbyV1World.User?
        var now: Int64
    }

    /// Decodes the parameters and finds the caller.
    mutating func call(
        _ request: SimulatedRequest, _ now: Int64, id: String = "", _ allowed: [String] = [],
        required: [String] = []
    ) throws(OutsideTables) -> Call {
        let source: SimulatedParameters.Source =
            request.method == "GET" ? .query : .both
        let parameters = try SimulatedParameters(
            request, in: source, allowed: allowed + ["auth_token"], required: required)
        let token = parameters["auth_token"] ?? ""
        let isAlive = access.isAlive(token, at: now, core.adversary.tokenLifeMilliseconds)
        let user = isAlive ? world.tokens[token].flatMap { world.users[$0] } : nil
        return Call(id: id, parameters: parameters, user: user, now: now)
    }

    private static let paging = ["limit", "skip", "since_id"]
    private static let recommending = paging + ["trigger_recs", "recs_version"]

    mutating func route(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let path = request.segments
        guard path.first == "v1", path.count > 1 else { throw .route }
        let id = path.count > 2 ? path[2] : ""
        let isID = id.count == 24 && id.allSatisfy(\.isHexDigit)
        let shape =
            [request.method]
            + path.dropFirst().enumerated().map {
                ($0.offset == 1 && isID) || $0.offset == 3 ? "#" : $0.element
            }
        switch shape {
        case ["POST", "token"]: return try logIn(request, now)
        case ["DELETE", "token", id]: return try logOut(call(request, now, id: id))
        case ["POST", "user"]: return try signUp(request, now)
        case ["GET", "dashboard"]:
            return try dashboard(call(request, now, Self.recommending))
        case ["GET", "user", "#", "dashboard"]:
            return try dashboard(call(request, now, id: id, Self.recommending))
        case ["GET", "dashboard", "#"]:
            return try entry(call(request, now, id: id, ["include_children"]))
        case ["GET", "frame", "#"]:
            return try frame(call(request, now, id: id, ["include_children"]))
        case ["GET", "roll", "#", "frames"]:
            return try rollFrames(call(request, now, id: id, Self.paging))
        case ["GET", "roll", "featured"]:
            return try featured(call(request, now, ["segment"]))
        case ["GET", "user", "#", "rolls", "#"] where path[4] == "following":
            return try following(call(request, now, id: id))
        case ["POST", "roll", "#", "join"]:
            return try join(call(request, now, id: id), joins: true)
        case ["POST", "roll", "#", "leave"]:
            return try join(call(request, now, id: id), joins: false)
        default:
            return try routeWrites(shape, path, id, request, now)
        }
    }

    private mutating func routeWrites(
        _ shape: [String], _ path: [String], _ id: String, _ request: SimulatedRequest,
        _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        switch shape {
        case ["PUT", "frame", "#", "like"], ["POST", "frame", "#", "add_to_watch_later"]:
            return try like(call(request, now, id: id))
        case ["DELETE", "frame", "#"]: return try removeFrame(call(request, now, id: id))
        case ["POST", "frame", "#", "watched"]:
            return try watched(call(request, now, id: id, ["start_time", "end_time", "complete"]))
        case ["POST", "roll", "#", "frames"]:
            return try putOnRoll(call(request, now, id: id, ["frame_id", "url", "text"]))
        case ["POST", "frame", "#", "share"]:
            return try share(
                call(
                    request, now, id: id, ["addresses"], required: ["destination[]", "text"]))
        case ["GET", "video", "#", "conversations"]:
            return try conversations(call(request, now, id: id))
        case ["GET", "conversation", "#"]: return try conversation(call(request, now, id: id))
        case ["POST", "conversation", "#", "messages"]:
            return try say(call(request, now, id: id, required: ["text"]))
        case ["DELETE", "conversation", "#", "messages", "#"]:
            return try unsay(call(request, now, id: id), message: path[4])
        case ["PUT", "video", "#", "unplayable"]:
            return try unplayable(call(request, now, id: id))
        case ["GET", "video", "#", "likers"]: return try likers(call(request, now, id: id))
        case ["GET", "frame", "#", "short_link"]:
            return try shortLink(call(request, now, id: id))
        case ["POST", "user", "#", "apn_token"], ["DELETE", "user", "#", "apn_token"]:
            return try notificationToken(
                call(request, now, id: id, required: ["token"]), comes: request.method == "POST")
        case ["PUT", "user", "#", "visit"]:
            return try visit(call(request, now, id: id, ["platform"]))
        default: throw .route
        }
    }

    // MARK: - Shared answers

    static func result(_ value: SimulatedJSON) -> SimulatedResponse {
        .json(200, ["status": 200, "result": value])
    }

    /// Returns a response in the format of the fast routes, which includes the processing time.
    static func fastResult(_ value: SimulatedJSON) -> SimulatedResponse {
        .json(200, ["status": 200, "cApiTimeMs": 3, "result": value])
    }

    static func failure(_ status: Int, _ message: String, http: Int? = nil) -> SimulatedResponse {
        .json(
            http ?? status,
            ["status": .count(status), "message": .text(message), "errors": [:]])
    }

    static let unauthorized = failure(401, "you must be authenticated")
    static let notFound = failure(404, "could not find that")
}
