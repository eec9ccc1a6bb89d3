internal import Foundation

/// The documented part of OAuth 1.0a: three calls, each of which returns the token for the next
/// call.
struct ShelbyV2Access: Sendable {
    /// The request tokens, and whether the user has approved each of them.
    var requests: [String: Bool] = [:]
    var count = 0
    /// The time at which each token was first used; the token's lifetime starts at this time.
    private var born: [String: Int64] = [:]

    mutating func isAlive(_ token: String, at now: Int64, _ lifeMilliseconds: Int64?) -> Bool {
        guard let lifeMilliseconds else { return true }
        let birth = born[token] ?? now
        born[token] = birth
        return now - birth < lifeMilliseconds
    }

    /// Returns the parameters of a header such as `Authorization: OAuth a="1", b="2"`.
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
    /// Handles `/oauth/request_token`, `/oauth/authorize` and `/oauth/access_token`.
    ///
    /// The first user of the world approves every request immediately.
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
                throw OutsideTables("unknown provider \(provider)")
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
