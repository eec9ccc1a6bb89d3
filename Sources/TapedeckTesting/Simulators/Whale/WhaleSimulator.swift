/// The Whale system, in which users ask questions and answer them with videos.
///
/// The simulator reproduces these quirks of the real system:
///
/// - Logging in or signing up returns the token in the response headers.
/// - A 401 has an empty body.
/// - Pages count from 0.
/// - Lists are ordered by a hidden date without a tie-break, so pages may repeat or miss rows.
/// - Counts are null instead of 0.
/// - The response to an upload is 201 before the answer exists, and a failed upload is never
///   reported.
/// - A like is inserted, but the response is 500. Repeating the request inserts another like.
/// - `GET /questions` returns the questions of all users.
/// - Users cannot follow each other.
public struct WhaleSimulator: RemoteSimulator, SimulatorEngine {
    /// The system's data; tests may change it at any time.
    public var world: WhaleWorld
    /// The minimum time before an upload becomes an answer, in milliseconds.
    public var uploadMilliseconds: Int64 = 1_500
    var core: SimulatorCore
    var sessions = WhaleSessions()
    var uploads: [WhaleUpload] = []

    /// Creates a simulator with the given world.
    public init(world: WhaleWorld, seed: UInt64 = 0, adversary: SimulatorAdversary = .none) {
        self.world = world
        core = SimulatorCore(seed: seed, adversary: adversary)
    }

    /// Creates a simulator with a world generated as of `now`.
    public init(seed: UInt64, at now: Int64, adversary: SimulatorAdversary = .none) {
        self.init(world: WhaleWorld(seed: seed, at: now), seed: seed, adversary: adversary)
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

    /// Completes the uploads due by `now`, and performs the actions of other users until `now`.
    public mutating func advance(to now: Int64) { pass(until: now) }

    /// Ends every session.
    public mutating func expireTokens() { sessions.closeAll() }

    /// Issues a token without a password, for tests that are not about logging in.
    public mutating func token(forUser id: Int, at now: Int64) -> String {
        sessions.open(user: id, at: now, life: core.adversary.tokenLifeMilliseconds).token
    }

    // MARK: - Routes

    mutating func route(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let path = request.segments
        guard path.starts(with: ["api", "v1"]) else { throw .route }
        let route = Array(path.dropFirst(2))
        let id = route.count > 1 ? Int(route[1]) : nil
        let shape = route.enumerated().map { $0.offset == 1 && id != nil ? "#" : $0.element }
        switch (request.method, shape) {
        case ("POST", ["sessions"]): return try logIn(request, now)
        case ("GET", ["sessions"]): return try session(request, now)
        case ("GET", ["users"]): return try users(request, now, areNew: false)
        case ("GET", ["users", "newbies"]): return try users(request, now, areNew: true)
        case ("POST", ["users"]): return try signUp(request, now)
        case ("GET", ["users", "#"]): return try user(id ?? 0, request)
        case ("PATCH", ["users", "#"]): return try changeImage(request, now)
        case ("GET", ["answers"]): return try answers(request, now)
        case ("GET", ["answers", "#", "comments"]): return try comments(id ?? 0, request, now)
        case ("POST", ["answers", "#", "comments"]): return try comment(id ?? 0, request, now)
        case ("GET", ["answers", "#", "likes"]): return try likes(id ?? 0, request, now)
        case ("POST", ["answers", "#", "likes"]): return try like(id ?? 0, request, now)
        case ("PATCH", ["comments", "#"]): return try editComment(id ?? 0, request, now)
        case ("DELETE", ["comments", "#"]): return try deleteComment(id ?? 0, request, now)
        case ("GET", ["questions"]): return try questions(request, now)
        case ("POST", ["questions"]): return try ask(request, now)
        case ("GET", ["questions", "#"]): return try question(id ?? 0, request, now)
        case ("POST", ["questions", "#", "answers"]): return try upload(id ?? 0, request, now)
        default:
            // The API description lists these routes, but they were never implemented; the clients'
            // calls to them are commented out.
            guard let last = route.last, WhaleSimulator.missingRoutes.contains(last) else {
                throw .route
            }
            return .empty(404)
        }
    }

    private static let missingRoutes: Set = [
        "follow", "unfollow", "follows", "followers", "following", "relationships",
    ]

    // MARK: - Shared answers

    func caller(_ request: SimulatedRequest, _ now: Int64) -> Int? {
        sessions.user(of: request.header("Authorization"), at: now)
    }

    static let unauthorized = SimulatedResponse.empty(401)
    static let notFound = SimulatedResponse.empty(404)

    static func invalid(_ field: String, _ what: String) -> SimulatedResponse {
        .json(422, ["errors": .object([.init(name: field, value: .array([.text(what)]))])])
    }

    static let pageParameters = ["page", "per_page"]

    /// Returns a page of rows, newest first, or a 500 response if a page parameter is invalid.
    mutating func page<Row>(
        of rows: [Row], _ parameters: SimulatedParameters, date: (Row) -> Int64, id: (Row) -> Int,
        document: (Row) -> SimulatedJSON
    ) -> SimulatedResponse {
        guard let page = Int(parameters["page"] ?? "0"),
            let size = Int(parameters["per_page"] ?? "20"), page >= 0, size > 0,
            case let (product, overflow) = page.multipliedReportingOverflow(by: size), !overflow
        else { return SimulatorCore.brokenAnswer }
        let sorted = core.newestFirst(rows, date: date, id: id)
        let shown = sorted.dropFirst(core.offset(product)).prefix(size)
        return .json(
            200,
            [
                "page": .count(page), "per_page": .count(size),
                "total_pages": .count(rows.count / size + (rows.count % size > 0 ? 1 : 0)),
                "data": .array(shown.map(document)),
            ])
    }
}
