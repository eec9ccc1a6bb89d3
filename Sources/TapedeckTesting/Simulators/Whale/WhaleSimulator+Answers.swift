extension WhaleSimulator {
    mutating func answers(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let parameters = try SimulatedParameters(
            request, in: .query, allowed: Self.pageParameters)
        guard caller(request, now) != nil else { return Self.unauthorized }
        let world = world
        return page(of: world.answers, parameters, date: \.insertedAt, id: \.id) {
            world.document($0)
        }
    }

    // MARK: - Comments

    mutating func comments(
        _ answer: Int, _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let parameters = try SimulatedParameters(
            request, in: .query, allowed: Self.pageParameters)
        guard caller(request, now) != nil else { return Self.unauthorized }
        let world = world
        let rows = world.comments.filter { $0.answer == answer }
        return page(of: rows, parameters, date: \.insertedAt, id: \.id) { world.document($0) }
    }

    mutating func comment(
        _ answer: Int, _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let fields = try SimulatedParameters(request, in: .form, required: ["comment"])
        guard let caller = caller(request, now) else { return Self.unauthorized }
        guard world.answer(answer) != nil else { return Self.notFound }
        let text = fields["comment"] ?? ""
        let row = world.insertComment(text, answer: answer, by: caller, at: now)
        core.note(
            .comment, String(answer), by: String(caller), text, detail: String(row.id), at: now)
        return .json(201, world.document(row))
    }

    mutating func editComment(
        _ id: Int, _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let fields = try SimulatedParameters(request, in: .form, required: ["comment[content]"])
        guard let caller = caller(request, now) else { return Self.unauthorized }
        guard let index = ownComment(id, of: caller) else { return Self.notFound }
        let text = fields["comment[content]"] ?? ""
        world.comments[index].content = text
        core.note(
            .commentEdited, String(world.comments[index].answer), by: String(caller), text,
            detail: String(id), at: now)
        return .json(200, world.document(world.comments[index]))
    }

    mutating func deleteComment(
        _ id: Int, _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        _ = try SimulatedParameters(request, in: [])
        guard let caller = caller(request, now) else { return Self.unauthorized }
        guard let index = ownComment(id, of: caller) else { return Self.notFound }
        let row = world.comments.remove(at: index)
        core.note(
            .commentDeleted, String(row.answer), by: String(caller), detail: String(id), at: now)
        return .empty(204)
    }

    /// Returns the index of the caller's comment; comments by other users are not found.
    private func ownComment(_ id: Int, of caller: Int) -> Int? {
        world.comments.firstIndex { $0.id == id && $0.commenter == caller }
    }

    // MARK: - Likes

    mutating func likes(
        _ answer: Int, _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let parameters = try SimulatedParameters(
            request, in: .query, allowed: Self.pageParameters)
        guard caller(request, now) != nil else { return Self.unauthorized }
        let world = world
        let rows = world.likes.filter { $0.answer == answer }
        return page(of: rows, parameters, date: \.insertedAt, id: \.id) { world.document($0) }
    }

    /// Inserts a like on every call and then returns a 500, as the real system does.
    mutating func like(
        _ answer: Int, _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let fields = try SimulatedParameters(
            request, in: .form, required: ["like[answer_id]", "like[user_id]"])
        guard Int(fields["like[answer_id]"] ?? "") == answer else {
            throw OutsideTables("the path and like[answer_id] name different answers")
        }
        guard let caller = caller(request, now) else { return Self.unauthorized }
        guard Int(fields["like[user_id]"] ?? "") == caller else {
            throw OutsideTables("like[user_id] is not the caller")
        }
        guard world.answer(answer) != nil else { return Self.notFound }
        let row = world.insertLike(user: caller, answer: answer, at: now)
        core.note(.like, String(answer), by: String(caller), detail: String(row.id), at: now)
        return SimulatorCore.brokenAnswer
    }
}
