internal import Foundation

/// The sessions of a simulated Whale system.
struct WhaleSessions: Hashable, Sendable {
    /// The default lifetime of a token, in milliseconds.
    static let lifeMilliseconds = 30 * SimulatedTime.dayMilliseconds

    private struct Session: Hashable, Sendable {
        var user: Int
        var expiresAt: Int64
    }

    /// The users who have ever had a token; the simulator never acts on their behalf.
    private(set) var users: Set<Int> = []
    private var sessions: [String: Session] = [:]
    private var count = 0

    /// Issues a token in the format of a JWT, with the user and the expiry, but without a real
    /// signature.
    mutating func open(user: Int, at now: Int64, life: Int64?) -> (token: String, expires: Int64) {
        count += 1
        users.insert(user)
        let end = now + (life ?? Self.lifeMilliseconds)
        let seconds = end / 1_000
        let claims: SimulatedJSON = [
            "aud": .text("User:\(user)"), "exp": .int(seconds), "iat": .int(now / 1_000),
            "jti": .text("session-\(count)"), "sub": .text("User:\(user)"), "typ": "access",
        ]
        let header: SimulatedJSON = ["alg": "HS512", "typ": "JWT"]
        let signature = Array("simulated-\(count)".utf8)
        let token = [header.bytes, claims.bytes, signature].map(Self.encoded).joined(separator: ".")
        sessions[token] = Session(user: user, expiresAt: end)
        return (token, seconds)
    }

    /// Returns the user for a header whose value is `Bearer <token>` or only the token.
    func user(of header: String?, at now: Int64) -> Int? {
        guard let header else { return nil }
        let token = header.hasPrefix("Bearer ") ? String(header.dropFirst(7)) : header
        guard let session = sessions[token], now < session.expiresAt else { return nil }
        return session.user
    }

    mutating func closeAll() { sessions = [:] }

    private static func encoded(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "=", with: "")
            .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    }
}
