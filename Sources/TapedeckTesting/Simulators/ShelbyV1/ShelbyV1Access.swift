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
        let call = try call(
            request, now,
            ["email", "password", "provider_name", "uid", "token", "secret", "intention"])
        let fields = call.parameters
        if let provider = fields["provider_name"], let uid = fields["uid"] {
            guard fields["token"] != nil else { throw OutsideTables("token is missing") }
            let owner = world.users.values.first { $0.services[provider] == uid }
            if let user = call.user { return link(provider, uid, to: user, owner, now) }
            if let owner { return session(of: owner, now) }
            guard fields["intention"] == "login" else {
                throw OutsideTables("a token without an account creates an account")
            }
            return Self.refusal(
                403_001,
                "Account not found for given token.  Use sign up to create an account.")
        }
        guard let email = fields["email"], let password = fields["password"] else {
            throw OutsideTables("a login needs email and password, or a provider's account")
        }
        if call.user != nil {
            return Self.failure(404, "user already authenticated, email/password unnecessary")
        }
        let user = world.users.values.first {
            $0.email == email.lowercased() || $0.nickname == email.lowercased()
        }
        guard let user else {
            return Self.failure(404, "Use /v1/user/create to create a new user without oauth")
        }
        guard user.password == password else {
            return Self.failure(
                404, "Failed to verify user; provide oauth tokens or email/password.")
        }
        return session(of: user, now)
    }

    /// Links a service to the caller's account, unless it belongs to another account.
    private mutating func link(
        _ provider: String, _ uid: String, to user: ShelbyV1World.User,
        _ owner: ShelbyV1World.User?, _ now: Int64
    ) -> SimulatedResponse {
        guard owner == nil || owner?.id == user.id else {
            return Self.refusal(403_003, "Not merging users, please email support@shelby.tv")
        }
        world.users[user.id]?.services[provider] = uid
        core.note(.serviceLinked, user.id, by: user.id, provider, at: now)
        return session(of: user, now)
    }

    /// Returns a 403 response whose message is an object.
    private static func refusal(_ code: Int, _ text: String) -> SimulatedResponse {
        .json(
            403,
            [
                "status": 403,
                "message": ["error_code": .count(code), "error_message": .text(text)],
            ])
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
        return Self.result(world.profile(user.id, token: token))
    }

    /// Removes a token, which ends all sessions of its user.
    mutating func logOut(_ call: Call) throws(OutsideTables) -> SimulatedResponse {
        guard let user = world.tokens.removeValue(forKey: call.id) else {
            return Self.failure(404, "Invalid token.")
        }
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
        if taken { return Self.failure(409, "that name or email address is taken") }
        let user = world.insertUser(
            nickname, email: email, password: fields["user[password]"] ?? "", at: now)
        core.note(.signUp, user.id, by: user.id, detail: nickname, at: now)
        return session(of: user, now)
    }
}
