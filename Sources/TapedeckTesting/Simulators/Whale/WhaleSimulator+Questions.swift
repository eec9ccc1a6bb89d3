extension WhaleSimulator {
    /// Returns the unanswered questions of all users, not only the caller's.
    mutating func questions(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let parameters = try SimulatedParameters(
            request, in: .query, allowed: Self.pageParameters)
        guard caller(request, now) != nil else { return Self.unauthorized }
        let world = world
        let answered = Set(world.answers.map(\.question))
        let rows = world.questions.filter { !answered.contains($0.id) }
        return page(of: rows, parameters, date: \.insertedAt, id: \.id) { world.document($0) }
    }

    mutating func ask(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let fields = try SimulatedParameters(
            request, in: .form, required: ["receiver_id", "content"])
        guard let caller = caller(request, now) else { return Self.unauthorized }
        guard let receiver = Int(fields["receiver_id"] ?? ""), world.user(receiver) != nil else {
            return Self.invalid("receiver_id", "does not exist")
        }
        let content = fields["content"] ?? ""
        let row = world.insertQuestion(content, sender: caller, receiver: receiver, at: now)
        core.note(
            .question, String(receiver), by: String(caller), content, detail: String(row.id),
            at: now)
        return .json(201, world.document(row))
    }

    func question(
        _ id: Int, _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        _ = try SimulatedParameters(request, in: [])
        guard caller(request, now) != nil else { return Self.unauthorized }
        guard let question = world.question(id) else { return Self.notFound }
        return .json(200, world.document(question))
    }
}
