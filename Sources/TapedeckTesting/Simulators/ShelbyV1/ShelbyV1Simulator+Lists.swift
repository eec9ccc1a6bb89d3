extension ShelbyV1Simulator {
    /// Returns a numeric list parameter, or `usual` if it is missing.
    private func number(
        _ name: String, _ call: Call, _ usual: Int
    ) throws(OutsideTables) -> Int {
        guard let text = call.parameters[name] else { return usual }
        guard let number = Int(text), number >= 0 else {
            throw OutsideTables("\(name) is not a number: \(text)")
        }
        return number
    }

    /// Returns a page of rows ordered by id, newest first; `since_id` skips the rows that are newer
    /// than the row with that id.
    private mutating func page<Row>(
        _ rows: [Row], _ call: Call, id: (Row) -> String
    ) throws(OutsideTables) -> [Row] {
        let limit = try number("limit", call, Self.limitDefault)
        let skip = try number("skip", call, 0)
        var rows = rows.sorted { id($0) > id($1) }
        if let since = call.parameters["since_id"] {
            guard since.count == 24, since.allSatisfy(\.isHexDigit) else {
                throw OutsideTables("since_id is not an id")
            }
            rows = rows.filter { id($0) <= since.lowercased() }
        }
        let offset = core.offset(skip)
        return Array(rows.dropFirst(offset).prefix(min(limit, Self.limitMax)))
    }

    mutating func dashboard(_ call: Call) throws(OutsideTables) -> SimulatedResponse {
        let owner = call.id.isEmpty ? call.user?.id : call.id
        let rows = try page(world.entries.values.filter { $0.user == owner }, call, id: \.id)
        guard call.user != nil else {
            return Self.failure(401, "you must be authenticated", http: 404)
        }
        return Self.fastResult(.array(rows.map { world.entry($0, call.now) }))
    }

    /// Returns a roll with a page of its frames.
    mutating func rollFrames(_ call: Call) throws(OutsideTables) -> SimulatedResponse {
        let rows = try page(world.frames.values.filter { $0.roll == call.id }, call, id: \.id)
        guard let roll = world.rolls[call.id], mayRead(roll, call) else { return Self.notFound }
        let frames = rows.map { world.frame($0.id, call.now) }
        return Self.fastResult(world.roll(roll.id).adding(["frames": .array(frames)]))
    }

    private func mayRead(_ roll: ShelbyV1World.Roll, _ call: Call) -> Bool {
        guard !roll.isPublic else { return true }
        guard let user = call.user else { return false }
        return roll.creator == user.id || roll.followers.contains(user.id)
    }

    func entry(_ call: Call) -> SimulatedResponse {
        guard let user = call.user else { return Self.unauthorized }
        guard let entry = world.entries[call.id], entry.user == user.id else {
            return Self.notFound
        }
        let hasChildren = call.parameters["include_children"] == "true"
        return Self.result(world.entry(entry, call.now, hasChildren: hasChildren))
    }

    func frame(_ call: Call) -> SimulatedResponse {
        guard world.frames[call.id] != nil else { return Self.notFound }
        let hasChildren = call.parameters["include_children"] == "true"
        return Self.result(world.frame(call.id, call.now, hasChildren: hasChildren))
    }

    func featured(_ call: Call) -> SimulatedResponse {
        Self.result(.array(world.featured.map { world.roll($0) }))
    }

    func following(_ call: Call) -> SimulatedResponse {
        guard call.user != nil else { return Self.unauthorized }
        let rolls = world.rolls.values.filter { $0.followers.contains(call.id) }
            .sorted { $0.id < $1.id }
        return Self.result(
            .array(
                rolls.map { roll in
                    world.roll(roll.id).adding([
                        "creator_nickname": .optional(world.users[roll.creator]?.nickname)
                    ])
                }))
    }

    func likers(_ call: Call) -> SimulatedResponse {
        guard world.videos[call.id] != nil else { return Self.notFound }
        let likers = Set(world.frames.values.filter { $0.video == call.id }.flatMap(\.upvoters))
        return Self.result(.array(likers.sorted().map { world.user($0) }))
    }
}
