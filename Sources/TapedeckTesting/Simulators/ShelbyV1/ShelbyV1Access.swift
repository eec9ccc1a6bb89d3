/// The access tokens of v1; each user keeps one token.
struct ShelbyV1Access: Sendable {
    private var count = 0
    /// The time at which each token was first used; the token's lifetime starts at this time.
    private var born: [String: Int64] = [:]

    mutating func isAlive(_ token: String, at now: Int64, _ lifeMilliseconds: Int64?) -> Bool {
        guard let lifeMilliseconds else { return true }
        let birth = born[token] ?? now
        born[token] = birth
        return now - birth < lifeMilliseconds
    }

    mutating func make() -> String {
        count += 1
        return "auth-token-\(count)"
    }
}

extension ShelbyV1Simulator {
    mutating func logIn(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let byMail = ["email", "password"]
        let byProvider = ["provider_name", "uid", "token", "secret"]
        let fields = try SimulatedParameters(
            request, in: .both, allowed: byMail + byProvider)
        let names = Set(fields.fields.map(\.name))
        let user: ShelbyV1World.User?
        switch names {
        case Set(byMail):
            user = world.users.values.first {
                $0.email == fields["email"] && $0.password == fields["password"]
            }
        case Set(byProvider):
            user = world.users.values.first {
                fields["provider_name"] == "twitter" && !$0.twitterID.isEmpty
                    && $0.twitterID == fields["uid"]
            }
        default:
            throw OutsideTables("a log-in needs e-mail and password, or a provider's account")
        }
        guard let user else { return Self.failure(401, "wrong e-mail address or password") }
        return session(of: user, now)
    }

    /// Returns the user with an existing token, or with a new token.
    private mutating func session(
        of user: ShelbyV1World.User, _ now: Int64
    ) -> SimulatedResponse {
        let life = core.adversary.tokenLifeMilliseconds
        let known = world.tokens.filter { $0.value == user.id }.keys.sorted()
        let alive = known.first { access.isAlive($0, at: now, life) }
        let token = alive ?? access.make()
        world.tokens[token] = user.id
        _ = access.isAlive(token, at: now, life)
        return Self.result(
            world.user(user.id).adding([
                "primary_email": .text(user.email), "authentication_token": .text(token),
            ]))
    }

    /// Removes a token, which ends all sessions of its user.
    mutating func logOut(_ call: Call) throws(OutsideTables) -> SimulatedResponse {
        guard let user = world.tokens.removeValue(forKey: call.id) else { return Self.notFound }
        return Self.result(world.user(user))
    }

    mutating func signUp(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let named = ["user[name]", "user[nickname]", "user[password]", "user[primary_email]"]
        let fields = try SimulatedParameters(
            request, in: .both,
            allowed: named + ["generate_temporary_nickname_and_password", "anonymous"])
        let isTemporary =
            fields["generate_temporary_nickname_and_password"] == "1" || fields["anonymous"] != nil
        let temporary = "guest\(world.users.count + 1)"
        guard let nickname = fields["user[nickname]"] ?? (isTemporary ? temporary : nil),
            !nickname.isEmpty
        else { throw OutsideTables("user[nickname] is missing") }
        let email = fields["user[primary_email]"] ?? ""
        let taken = world.users.values.contains {
            $0.nickname == nickname || (!email.isEmpty && $0.email == email)
        }
        if taken { return Self.failure(409, "that name or e-mail address is taken") }
        let user = world.insertUser(
            nickname, email: email, password: fields["user[password]"] ?? "", at: now)
        core.note(.signUp, user.id, by: user.id, detail: nickname, at: now)
        return session(of: user, now)
    }
}
