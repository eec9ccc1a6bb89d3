/// What every simulator has: its dice, its ledger, and what it was asked that it does not know.
///
/// `dice` is drawn from by requests, `fate` by what others do and `calendar` by when they do it. So
/// neither the requests nor the steps in which time passes change what others do.
struct SimulatorCore: Sendable {
    var adversary: SimulatorAdversary
    var dice: SeededGenerator
    var fate: SeededGenerator
    private var calendar: SeededGenerator
    private(set) var effects: [SimulatorEffect] = []
    private(set) var violations: [SimulatorViolation] = []
    private var quota = (window: Int64.min, used: 0)
    private var nextDeed: Int64?

    /// Deeds of others that one step of time may bring; a greater leap skips the rest.
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

    // MARK: - Weather

    /// What befalls a request.
    enum Weather {
        case fair
        /// The request never arrives.
        case lost
        /// Answered by something before the system.
        case turnedAway(SimulatedResponse)
        /// The effect happens, and the answer is lost.
        case answerLost
        /// The effect happens, and the answer is 500.
        case answerBroken
    }

    /// Draws the same number of bits for every request, so that one fault does not move the others.
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

    /// What a server says that has stumbled; not JSON, as it comes from the layer below.
    static let brokenAnswer = SimulatedResponse(
        status: 500, headers: [SimulatedField("Content-Type", "text/html")],
        body: Array("<html><body><h1>Internal Server Error</h1></body></html>".utf8))

    /// The seconds until the quota's next window, where this one is used up.
    private mutating func waitForQuota(at now: Int64) -> Int64? {
        guard let most = adversary.quotaMax else { return nil }
        let window = now / max(1, adversary.quotaMilliseconds)
        if window != quota.window { quota = (window, 0) }
        quota.used += 1
        guard quota.used > most else { return nil }
        return max(1, ((window + 1) * adversary.quotaMilliseconds - now + 999) / 1_000)
    }

    // MARK: - Others

    /// When others do something, from the last call until `now`.
    mutating func deeds(until now: Int64) -> [Int64] {
        guard let mean = adversary.othersMilliseconds else { return [] }
        var times: [Int64] = []
        var next = nextDeed ?? now + pause(mean)
        while next <= now {
            // A clock that leaps by years must not take as long.
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

    /// The date of a row that others make at `now`, given the newest row's date.
    mutating func date(at now: Int64, newest: Int64?) -> Int64 {
        let late = fate.chance(adversary.lateRate)
        let ties = fate.chance(adversary.tieRate)
        let delay = Int64(fate.below(UInt64(max(1, adversary.lateMillisecondsMax))))
        if late { return now - delay }
        if ties, let newest { return newest }
        return now
    }

    // MARK: - Order

    /// Rows by date, the newest first; equal dates by `id`, or in no order at all.
    mutating func newestFirst<Row, ID: Comparable>(
        _ rows: [Row], date: (Row) -> Int64, id: (Row) -> ID
    ) -> [Row] {
        guard adversary.shufflesTies else {
            return rows.sorted { (date($0), id($0)) > (date($1), id($1)) }
        }
        let drawn = rows.sorted { id($0) > id($1) }.map { (row: $0, key: dice.next()) }
        return drawn.sorted { (date($0.row), $0.key) > (date($1.row), $1.key) }.map(\.row)
    }

    /// Where a page begins: one row early now and then, as when a row was added in between.
    mutating func offset(_ offset: Int) -> Int {
        let repeats = dice.chance(adversary.duplicateRate)
        return repeats && offset > 0 ? offset - 1 : offset
    }
}

extension SeededGenerator {
    /// True in a share of the draws.
    mutating func chance(_ rate: Double) -> Bool {
        below(1_000_000 as UInt64) < UInt64(max(0, min(1, rate)) * 1_000_000)
    }

    /// One of them; there must be one.
    mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }
}
