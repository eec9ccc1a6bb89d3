/// The OAuth 1.0a server of the 2012 system (RFC 5849), and the check of signed requests.
struct ShelbyV2Access: Sendable {
    /// A request token.
    private struct RequestToken {
        var secret: String
        var consumer: String
        var callback: String
        var birth: Int64
        /// The verifier; nil until the user has approved the login.
        var verifier: String?
    }

    /// The lifetime of a request token, in milliseconds.
    private static let requestLife: Int64 = 900_000
    /// The maximum difference between the time of a request and the system's time, in seconds.
    private static let agreement: Int64 = 300

    /// The secrets of the registered consumer keys.
    private static let registered = [
        SimulatorAccount.consumerKey: SimulatorAccount.consumerSecret
    ]

    private var requests: [String: RequestToken] = [:]
    private var count = 0
    /// The consumer key that each access token was issued to; the sample account's token works with
    /// any key and without one.
    private var consumers: [String: String] = [:]
    /// The nonces of recent requests, by the second of the request.
    private var nonces: [Int64: Set<String>] = [:]
    /// The time at which each token was first used; the token's lifetime starts at this time.
    private var born: [String: Int64] = [:]

    mutating func isAlive(_ token: String, at now: Int64, _ lifeMilliseconds: Int64?) -> Bool {
        guard let lifeMilliseconds else { return true }
        let birth = born[token] ?? now
        born[token] = birth
        return now - birth < lifeMilliseconds
    }

    // MARK: - Signatures

    /// Returns whether a request with an access token has a valid signature.
    ///
    /// - Parameter secret: The secret of the token.
    mutating func isSigned(_ request: SimulatedRequest, _ secret: String, at now: Int64) -> Bool {
        let header = SimulatedOAuth.parameters(of: request)
        let key = header["oauth_consumer_key"] ?? ""
        let owner = header["oauth_token"].flatMap { consumers[$0] }
        guard owner == nil || owner == key else { return false }
        let consumerSecret = key.isEmpty ? "" : ShelbyV2Access.registered[key]
        return isSigned(request, header, consumerSecret, secret, at: now)
    }

    private mutating func isSigned(
        _ request: SimulatedRequest, _ header: [String: String], _ consumerSecret: String?,
        _ tokenSecret: String, at now: Int64
    ) -> Bool {
        let now = now / 1_000
        guard let consumerSecret, ["1.0", nil].contains(header["oauth_version"]),
            header["oauth_signature_method"] == "HMAC-SHA1",
            let second = header["oauth_timestamp"].flatMap({ Int64($0) }),
            (now - ShelbyV2Access.agreement...now + ShelbyV2Access.agreement).contains(second),
            let nonce = header["oauth_nonce"], !nonce.isEmpty,
            header["oauth_signature"]
                == SimulatedOAuth.signature(
                    of: request, consumerSecret: consumerSecret, tokenSecret: tokenSecret)
        else { return false }
        // Older requests are refused because of their time.
        nonces = nonces.filter { $0.key >= now - ShelbyV2Access.agreement }
        let name = [header["oauth_consumer_key"] ?? "", header["oauth_token"] ?? "", nonce]
            .joined(separator: " ")
        return nonces[second, default: []].insert(name).inserted
    }

    // MARK: - The three legs of OAuth

    /// Returns the fields of a new request token; nil if the request is refused.
    mutating func requestToken(
        _ request: SimulatedRequest, at now: Int64
    ) -> [SimulatedField]? {
        let header = SimulatedOAuth.parameters(of: request)
        guard let callback = header["oauth_callback"],
            callback == "oob" || callback.contains("://"), header["oauth_token"] == nil,
            isSigned(request, header, ShelbyV2Access.secret(of: header), "", at: now)
        else { return nil }
        let (token, secret) = make("request")
        requests[token] = RequestToken(
            secret: secret, consumer: header["oauth_consumer_key"] ?? "", callback: callback,
            birth: now)
        return [
            SimulatedField("oauth_token", token), SimulatedField("oauth_token_secret", secret),
            SimulatedField("oauth_callback_confirmed", "true"),
        ]
    }

    /// Approves or denies a request token, and returns the callback and the fields for it; nil if
    /// the token is unknown.
    mutating func approve(
        _ token: String, isDenied: Bool, at now: Int64, _ random: inout SeededGenerator
    ) -> (callback: String, fields: [SimulatedField])? {
        guard var request = requests[token], now - request.birth < ShelbyV2Access.requestLife
        else { return nil }
        if isDenied {
            requests[token] = nil
            return (request.callback, [SimulatedField("denied", token)])
        }
        let verifier = String(1_000_000 + random.below(9_000_000))
        request.verifier = verifier
        requests[token] = request
        return (
            request.callback,
            [SimulatedField("oauth_token", token), SimulatedField("oauth_verifier", verifier)]
        )
    }

    /// Exchanges an approved request token for an access token, once; returns nil if the request is
    /// refused.
    mutating func accessToken(
        _ request: SimulatedRequest, at now: Int64
    ) -> (token: String, secret: String)? {
        let header = SimulatedOAuth.parameters(of: request)
        guard let token = header["oauth_token"], let asked = requests[token],
            now - asked.birth < ShelbyV2Access.requestLife, let verifier = asked.verifier,
            header["oauth_verifier"] == verifier, header["oauth_consumer_key"] == asked.consumer,
            isSigned(request, header, ShelbyV2Access.secret(of: header), asked.secret, at: now)
        else { return nil }
        requests[token] = nil
        let made = make("access")
        consumers[made.token] = asked.consumer
        return made
    }

    /// Returns the secret of the consumer key in a header; nil if the key is not registered.
    private static func secret(of header: [String: String]) -> String? {
        header["oauth_consumer_key"].flatMap { registered[$0] }
    }

    private mutating func make(_ kind: String) -> (token: String, secret: String) {
        count += 1
        return ("\(kind)-\(count)", "\(kind)-secret-\(count)")
    }
}

extension ShelbyV2Simulator {
    /// Handles `/oauth/request_token`, `/oauth/authorize` and `/oauth/access_token`.
    ///
    /// The first user of the world approves every login immediately; `deny=true` denies it. The
    /// server also plays the role of Twitter, which returns the user's id with the access token.
    mutating func routeAccess(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        switch (request.method, request.segments) {
        case ("POST", ["oauth", "request_token"]):
            _ = try SimulatedParameters(request, in: [])
            guard let fields = access.requestToken(request, at: now) else { return Self.refusal }
            return Self.form(fields)
        case ("GET", ["oauth", "authorize"]): return try approve(request, now)
        case ("POST", ["oauth", "access_token"]):
            _ = try SimulatedParameters(request, in: [])
            guard let user = world.users.first,
                let (token, secret) = access.accessToken(request, at: now)
            else { return Self.refusal }
            (world.tokens[token], world.secrets[token]) = (user.id, secret)
            return Self.form([
                SimulatedField("oauth_token", token), SimulatedField("oauth_token_secret", secret),
                SimulatedField("user_id", SimulatorAccount.twitterID),
                SimulatedField("screen_name", user.nickname),
            ])
        default: throw .route
        }
    }

    /// Redirects the browser to the callback of a request token, or shows the verifier.
    private mutating func approve(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let parameters = try SimulatedParameters(
            request, in: .query, allowed: ["provider", "deny"], required: ["oauth_token"])
        let provider = parameters["provider"] ?? "twitter"
        guard ["twitter", "facebook", "tumblr"].contains(provider) else {
            throw OutsideTables("unknown provider \(provider)")
        }
        let isDenied = parameters["deny"] == "true"
        guard
            let (callback, fields) = access.approve(
                parameters["oauth_token"] ?? "", isDenied: isDenied, at: now, &core.dice)
        else { return Self.refusal }
        guard callback == "oob" else {
            let mark = callback.contains("?") ? "&" : "?"
            let target = callback + mark + SimulatedField.urlEncoded(fields)
            var response = Self.text(302, "Redirecting to \(target)")
            response.headers.append(SimulatedField("Location", target))
            return response
        }
        return Self.text(200, isDenied ? "Denied" : "PIN: \(fields.last?.value ?? "")")
    }

    private static var refusal: SimulatedResponse { text(401, "Invalid OAuth Request") }

    private static func text(_ status: Int, _ text: String) -> SimulatedResponse {
        SimulatedResponse(
            status: status, headers: [SimulatedField("Content-Type", "text/plain")],
            body: Array("\(text)\n".utf8))
    }

    private static func form(_ fields: [SimulatedField]) -> SimulatedResponse {
        SimulatedResponse(
            status: 200,
            headers: [SimulatedField("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(SimulatedField.urlEncoded(fields).utf8))
    }
}
