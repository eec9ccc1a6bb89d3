internal import Foundation

/// OAuth 1.0a as far as it is known: three calls, of which each gives the next its token.
struct ShelbyV2Access: Sendable {
    /// Tokens that were asked for, and whether the user has agreed.
    var requests: [String: Bool] = [:]
    var count = 0
    /// When a token was first seen: those of a world made by hand have no other beginning.
    private var born: [String: Int64] = [:]

    mutating func isAlive(_ token: String, at now: Int64, _ lifeMilliseconds: Int64?) -> Bool {
        guard let lifeMilliseconds else { return true }
        let birth = born[token] ?? now
        born[token] = birth
        return now - birth < lifeMilliseconds
    }

    /// The parameters in `Authorization: OAuth a="1", b="2"`.
    static func parameters(of request: SimulatedRequest) -> [String: String] {
        guard let header = request.header("Authorization"), header.hasPrefix("OAuth ") else {
            return [:]
        }
        var found: [String: String] = [:]
        for part in header.dropFirst("OAuth ".count).split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            let name = pair[0].trimmingCharacters(in: .whitespaces)
            let value = pair[1].trimmingCharacters(in: .whitespaces)
                .trimmingCharacters(in: ["\""])
            found[name] = value.removingPercentEncoding ?? value
        }
        return found
    }
}

extension ShelbyV2Simulator {
    /// `/oauth/request_token`, `/oauth/authorize`, `/oauth/access_token`.
    ///
    /// The user agrees at once, and it is the first one of the world.
    mutating func routeAccess(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let header = ShelbyV2Access.parameters(of: request)
        switch (request.method, request.segments) {
        case ("GET", ["oauth", "request_token"]), ("POST", ["oauth", "request_token"]):
            _ = try SimulatedParameters(request, in: [])
            guard header["oauth_consumer_key"] != nil else { return unauthorized }
            access.count += 1
            let token = "request-\(access.count)"
            access.requests[token] = false
            return ShelbyV2Simulator.tokens(
                token, "request-secret-\(access.count)",
                [SimulatedField("oauth_callback_confirmed", "true")])
        case ("GET", ["oauth", "authorize"]):
            let parameters = try SimulatedParameters(
                request, in: .query, required: ["oauth_token", "provider"])
            let provider = parameters["provider"] ?? ""
            guard ["twitter", "facebook", "tumblr"].contains(provider) else {
                throw OutsideTables("there is no provider \(provider)")
            }
            let token = parameters["oauth_token"] ?? ""
            guard access.requests[token] != nil else { return unauthorized }
            access.requests[token] = true
            let query = SimulatedField.urlEncoded([
                SimulatedField("oauth_token", token),
                SimulatedField("oauth_verifier", "verifier-\(token)"),
            ])
            return SimulatedResponse(
                status: 302, headers: [SimulatedField("Location", "shelby://ios?\(query)")])
        case ("GET", ["oauth", "access_token"]), ("POST", ["oauth", "access_token"]):
            _ = try SimulatedParameters(request, in: [])
            guard let token = header["oauth_token"], access.requests[token] == true,
                let user = world.users.first
            else { return unauthorized }
            access.requests[token] = nil
            access.count += 1
            let granted = "access-\(access.count)"
            world.tokens[granted] = user.id
            return ShelbyV2Simulator.tokens(granted, "access-secret-\(access.count)")
        default: throw .route
        }
    }

    private static func tokens(
        _ token: String, _ secret: String, _ more: [SimulatedField] = []
    ) -> SimulatedResponse {
        let fields = [
            SimulatedField("oauth_token", token), SimulatedField("oauth_token_secret", secret),
        ]
        return SimulatedResponse(
            status: 200,
            headers: [SimulatedField("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(SimulatedField.urlEncoded(fields + more).utf8))
    }
}
