/// The state common to all simulators: random sources, the ledger and the violations.
///
/// Requests use `dice`; the actions of other users use `fate`, and the times of these actions use
/// `calendar`. Therefore, neither the requests nor the intervals between `advance` calls change the
/// actions of other users.
struct SimulatorCore: Sendable {
    var adversary: SimulatorAdversary
    var dice: SeededGenerator
    var fate: SeededGenerator
    private var calendar: SeededGenerator
    private(set) var effects: [SimulatorEffect] = []
    private(set) var violations: [SimulatorViolation] = []
    private var quota = (window: Int64.min, used: 0)
    private var nextDeed: Int64?

    /// The maximum number of actions by other users per time step; further actions in the step are
    /// skipped.
    private static let deedsMax = 10_000

    init(seed: UInt64, adversary: SimulatorAdversary) {
        self.adversary = adversary
        dice = SeededGenerator(seed: SeededGenerator.mixed(seed ^ 0xD1CE))
        fate = SeededGenerator(seed: SeededGenerator.mixed(seed ^ 0xFA7E))
        calendar = SeededGenerator(seed: SeededGenerator.mixed(seed ^ 0xCA1E))
    }

    // MARK: - Ledger

    mutating func note(
        _ kind: SimulatorEffect.Kind, _ entity: String, by account: String, _ text: String = "",
        detail: String = "", at now: Int64
    ) {
        effects.append(
            SimulatorEffect(
                number: effects.count + 1, kind: kind, entity: entity, account: account, text: text,
                detail: detail, atMilliseconds: now))
    }

    mutating func violate(
        _ request: SimulatedRequest, _ what: String, at now: Int64
    ) -> SimulatedResponse {
        violations.append(
            SimulatorViolation(
                method: request.method, path: request.path, what: what, atMilliseconds: now))
        return .json(400, ["simulator": .text("\(request.method) \(request.path): \(what)")])
    }

    // MARK: - Faults

    /// The fault that affects a request.
    enum Weather {
        case fair
        /// The request never arrives.
        case lost
        /// An intermediate layer responds to the request instead of the system.
        case turnedAway(SimulatedResponse)
        /// The request takes effect, but the response is lost.
        case answerLost
        /// The request takes effect, but the response has status 500.
        case answerBroken
    }

    /// Draws the same number of random values for every request, so that one fault does not change
    /// which other faults occur.
    mutating func weather(at now: Int64) -> Weather {
        let lost = dice.chance(adversary.cutBeforeRate)
        let answerLost = dice.chance(adversary.cutAfterRate)
        let broken = dice.chance(adversary.serverErrorRate)
        let answerBroken = dice.chance(adversary.serverErrorAfterRate)
        let unavailable = dice.chance(adversary.unavailableRate)
        if let wait = waitForQuota(at: now) {
            return .turnedAway(
                SimulatedResponse(
                    status: 429, headers: [SimulatedField("Retry-After", String(wait))]))
        }
        if lost { return .lost }
        if unavailable {
            let seconds = String(adversary.retryAfterSeconds)
            return .turnedAway(
                SimulatedResponse(status: 503, headers: [SimulatedField("Retry-After", seconds)]))
        }
        if broken { return .turnedAway(SimulatorCore.brokenAnswer) }
        if answerLost { return .answerLost }
        return answerBroken ? .answerBroken : .fair
    }

    /// The response from a failing server.
    ///
    /// The response is HTML because the web server sends it, not the API.
    static let brokenAnswer = SimulatedResponse(
        status: 500, headers: [SimulatedField("Content-Type", "text/html")],
        body: Array("<html><body><h1>Internal Server Error</h1></body></html>".utf8))

    /// Returns the number of seconds until the next quota window, or nil if the current quota is
    /// not used up.
    private mutating func waitForQuota(at now: Int64) -> Int64? {
        guard let most = adversary.quotaMax else { return nil }
        let window = now / max(1, adversary.quotaMilliseconds)
        if window != quota.window { quota = (window, 0) }
        quota.used += 1
        guard quota.used > most else { return nil }
        return max(1, ((window + 1) * adversary.quotaMilliseconds - now + 999) / 1_000)
    }

    // MARK: - Other users

    /// Returns the times of other users' actions between the previous call and `now`.
    mutating func deeds(until now: Int64) -> [Int64] {
        guard let mean = adversary.othersMilliseconds else { return [] }
        var times: [Int64] = []
        var next = nextDeed ?? now + pause(mean)
        while next <= now {
            // The limit keeps the method fast after a large clock jump.
            guard times.count < SimulatorCore.deedsMax else {
                next = now + pause(mean)
                break
            }
            times.append(next)
            next += pause(mean)
        }
        nextDeed = next
        return times
    }

    private mutating func pause(_ mean: Int64) -> Int64 {
        1 + Int64(calendar.below(UInt64(max(1, 2 * mean))))
    }

    /// Returns the date of a row that another user adds at `now`, given the newest row's date.
    mutating func date(at now: Int64, newest: Int64?) -> Int64 {
        let late = fate.chance(adversary.lateRate)
        let ties = fate.chance(adversary.tieRate)
        let delay = Int64(fate.below(UInt64(max(1, adversary.lateMillisecondsMax))))
        if late { return now - delay }
        if ties, let newest { return newest }
        return now
    }

    // MARK: - Order

    /// Returns the rows by date, newest first; rows with equal dates are ordered by `id`, or
    /// shuffled.
    mutating func newestFirst<Row, ID: Comparable>(
        _ rows: [Row], date: (Row) -> Int64, id: (Row) -> ID
    ) -> [Row] {
        guard adversary.shufflesTies else {
            return rows.sorted { (date($0), id($0)) > (date($1), id($1)) }
        }
        let drawn = rows.sorted { id($0) > id($1) }.map { (row: $0, key: dice.next()) }
        return drawn.sorted { (date($0.row), $0.key) > (date($1.row), $1.key) }.map(\.row)
    }

    /// Returns the offset of a page; the offset is sometimes one row too low, as if a row had been
    /// added since the previous page.
    mutating func offset(_ offset: Int) -> Int {
        let repeats = dice.chance(adversary.duplicateRate)
        return repeats && offset > 0 ? offset - 1 : offset
    }
}

extension SeededGenerator {
    /// Returns true with the given probability.
    mutating func chance(_ rate: Double) -> Bool {
        below(1_000_000 as UInt64) < UInt64(max(0, min(1, rate)) * 1_000_000)
    }

    /// Returns a random element of a non-empty array.
    mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }
}
