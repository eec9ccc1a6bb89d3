extension WhaleSimulator {
    private func answer(
        _ status: Int, _ document: SimulatedJSON, _ session: (token: String, expires: Int64)
    ) -> SimulatedResponse {
        var response = SimulatedResponse.json(status, document)
        response.headers += [
            SimulatedField("authorization", "Bearer \(session.token)"),
            SimulatedField("x-expires", String(session.expires)),
        ]
        return response
    }

    mutating func logIn(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let fields = try SimulatedParameters(
            request, in: .form, required: ["email", "password"])
        guard
            let user = world.users.first(where: {
                $0.email == fields["email"] && $0.password == fields["password"]
            })
        else { return Self.unauthorized }
        let life = core.adversary.tokenLifeMilliseconds
        return answer(200, world.bare(user.id), sessions.open(user: user.id, at: now, life: life))
    }

    func session(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        _ = try SimulatedParameters(request, in: [])
        guard let caller = caller(request, now) else { return Self.unauthorized }
        return .json(200, world.full(caller))
    }

    mutating func users(
        _ request: SimulatedRequest, _ now: Int64, areNew: Bool
    ) throws(OutsideTables) -> SimulatedResponse {
        let parameters = try SimulatedParameters(
            request, in: .query, allowed: Self.pageParameters)
        let week = 7 * SimulatedTime.dayMilliseconds
        let world = world
        return page(
            of: world.users.filter { !areNew || $0.insertedAt > now - week }, parameters,
            date: \.insertedAt, id: \.id
        ) { world.detail($0.id) }
    }

    func user(_ id: Int, _ request: SimulatedRequest) throws(OutsideTables) -> SimulatedResponse {
        _ = try SimulatedParameters(request, in: [])
        return world.user(id) == nil ? Self.notFound : .json(200, world.full(id))
    }

    /// Changes the caller's image, even if the path names another user.
    mutating func changeImage(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let fields = try SimulatedParameters(
            request, in: .form, required: ["image_url"], files: ["image_url"])
        guard let caller = caller(request, now),
            let index = world.users.firstIndex(where: { $0.id == caller })
        else { return Self.unauthorized }
        world.users[index].imageURL = image(fields)
        core.note(
            .userImage, String(caller), by: String(caller), world.users[index].imageURL ?? "",
            at: now)
        return .json(200, world.bare(caller))
    }

    /// Returns the image's URL, which is given directly or assigned to an uploaded file.
    private func image(_ fields: SimulatedParameters) -> String? {
        if let file = fields.file("image_url") {
            return "http://media.example.org/users/\(file.checksum).\(file.fileExtension)"
        }
        return fields["image_url"]
    }

    mutating func signUp(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let names = ["first_name", "last_name", "email", "username", "password"]
        let fields = try SimulatedParameters(
            request, in: .form, allowed: ["image_url"], required: names, files: ["image_url"])
        for name in names where fields[name]?.isEmpty != false {
            return Self.invalid(name, "can't be blank")
        }
        let email = fields["email"] ?? ""
        let username = fields["username"] ?? ""
        if world.users.contains(where: { $0.email == email }) {
            return Self.invalid("email", "has already been taken")
        }
        if world.users.contains(where: { $0.username == username }) {
            return Self.invalid("username", "has already been taken")
        }
        let user = world.insertUser(
            WhaleWorld.User(
                id: 0, firstName: fields["first_name"] ?? "", lastName: fields["last_name"] ?? "",
                username: username, email: email, password: fields["password"] ?? "",
                imageURL: image(fields), insertedAt: now))
        core.note(.signUp, String(user.id), by: String(user.id), detail: username, at: now)
        let life = core.adversary.tokenLifeMilliseconds
        return answer(201, world.full(user.id), sessions.open(user: user.id, at: now, life: life))
    }
}
