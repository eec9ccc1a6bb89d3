import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import Testing

/// A device that syncs with a TVmaze simulator.
struct TVmazeDesk {
    let world: RemoteWorld
    let device: RemoteDevice
    let parts: [String]

    init(
        _ parts: [String] = [], _ adversary: SimulatorAdversary = .none, seed: UInt64 = 7,
        at now: String? = nil, _ made: TVmazeWorld? = nil
    ) throws {
        let clock = ManualClock()
        if let now { clock.set(milliseconds: UInt64(try milliseconds(now))) }
        world = RemoteWorld(clock: clock) { now in
            made.map { TVmazeSimulator(world: $0, seed: seed, adversary: adversary) }
                ?? TVmazeSimulator(seed: seed, at: now, adversary: adversary)
        }
        device = try RemoteDevice(world, "tvmaze", parts: parts, seed: seed)
        self.parts = parts.isEmpty ? ["US"] : parts
    }

    /// Returns a world of `count` shows on one network in New York, each with one episode at 20:00
    /// on the given day.
    static func shows(_ count: Int, on day: String, at start: String) throws -> TVmazeWorld {
        var world = TVmazeWorld()
        let us = TVmazeWorld.Country(
            name: "United States", code: "US", timezone: "America/New_York")
        let channel = TVmazeWorld.Channel(id: 1, name: "One", country: us)
        for number in 1...count {
            world.shows[number] = TVmazeWorld.Show(
                id: number, name: "Show \(number)", channel: channel, updated: 1_500_000_000)
            world.episodes[number] = TVmazeWorld.Episode(
                id: number, show: number, name: "Episode \(number)", airdate: day,
                startsAt: try milliseconds(start))
            world.casts[number] = [
                TVmazeWorld.Role(
                    person: number, personName: "Ada \(number)", character: number,
                    characterName: "Eve")
            ]
        }
        return world
    }

    var maze: TVmazeSimulator {
        get throws { try #require(world.simulator as? TVmazeSimulator) }
    }

    /// Changes the data on the remote.
    func change(_ body: (inout TVmazeSimulator) throws -> Void) throws {
        var maze = try maze
        try body(&maze)
        world.simulator = maze
    }

    func wait(_ duration: Duration) { world.clock.advance(by: duration) }

    // MARK: - Requests

    /// Returns the subjects of the requests, such as `US 2019-07-08`, `web 2019-07-08` or `cast 7`,
    /// omitting the first `first` requests.
    func asked(from first: Int = 0) -> [String] {
        world.requests.dropFirst(first).map { request in
            let words = request.path.split(separator: "/")
            guard words.first == "schedule" else { return "cast \(words[1])" }
            func value(_ name: String) -> String? {
                request.query.first { $0.name == name }?.value
            }
            let list = (words.count > 1 ? ["web"] : []) + [value("country")].compactMap { $0 }
            return "\(list.joined(separator: "-")) \(value("date") ?? "")"
        }
    }

    // MARK: - Results

    /// Returns the ids of this week's episodes on one country's networks, by day, according to the
    /// store.
    func shown(_ country: String = "US") throws -> [String: [Int]] {
        let scope = try ScheduleScope(country: country)
        let now = UTCTime(milliseconds: Int64(world.clock.milliseconds))
        return try device.query { queries in
            try queries.schedule(at: now, scope: scope).days.reduce(into: [:]) { days, day in
                days[day.date] = day.episodes.map { Int($0.id) }
            }
        }
    }

    /// Like `shown`, but returns the ids that the remote lists.
    func held(_ country: String = "US", _ days: some Sequence<String>) throws -> [String: [Int]] {
        var caller = try maze
        caller.maxAgeSeconds = nil
        caller.adversary = .none
        var held: [String: [Int]] = [:]
        for (index, day) in days.enumerated() {
            let answer = caller.respond(
                to: SimulatedRequest("GET", "/schedule?country=\(country)&date=\(day)"),
                // One request per minute does not exceed any quota.
                at: Int64(world.clock.milliseconds) + Int64(index + 1) * 60_000)
            held[day] = try #require(answer.response).episodes
        }
        return held
    }

    /// Checks that the store shows the same episodes as the remote.
    func checkShown(
        _ country: String = "US", _ comment: Comment? = nil,
        location: SourceLocation = #_sourceLocation
    ) throws {
        let shown = try shown(country)
        let held = try held(country, shown.keys)
        #expect(shown == held, comment, sourceLocation: location)
    }

    func cast(_ show: Int) throws -> [String] {
        try device.query { try $0.show(Int64(show)).cast.compactMap(\.person) }
    }
}

extension SimulatedResponse {
    /// The ids of the episodes in a list.
    fileprivate var episodes: [Int] {
        text.matches(of: /\{"id":([0-9]+),"url":"[^"]*\/episodes\//).compactMap { Int($0.1) }
    }
}

/// Returns a time in milliseconds since 1970; throws if the string is not a time.
func milliseconds(_ text: String) throws -> Int64 {
    try #require(Timestamps.milliseconds(text), "\(text)")
}
