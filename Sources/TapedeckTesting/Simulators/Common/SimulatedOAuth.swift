internal import Crypto
internal import Foundation

/// Signatures of OAuth 1.0a with HMAC-SHA1 (RFC 5849, section 3).
///
/// The connectors have their own implementation, so that a mistake in either implementation is
/// detected.
enum SimulatedOAuth {
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

    /// Returns the signature of a request whose header contains the other OAuth parameters.
    static func signature(
        of request: SimulatedRequest, consumerSecret: String, tokenSecret: String
    ) -> String {
        let header = parameters(of: request).filter {
            !["realm", "oauth_signature"].contains($0.key)
        }
        var fields = header.map { SimulatedField($0.key, $0.value) } + request.query
        if request.header("Content-Type")?.hasPrefix("application/x-www-form-urlencoded") == true {
            fields += SimulatedField.parse(
                urlEncoded: String(decoding: request.body, as: UTF8.self))
        }
        let encoded = fields.map {
            (SimulatedField.encoded($0.name), SimulatedField.encoded($0.value))
        }
        let normalized = encoded.sorted { $0 < $1 }.map { "\($0)=\($1)" }.joined(separator: "&")
        var host = (request.header("Host") ?? "").lowercased()
        if host.hasSuffix(":80") { host.removeLast(3) }
        let text = [request.method, "http://\(host)\(request.path)", normalized]
        let key = [consumerSecret, tokenSecret].map(SimulatedField.encoded).joined(separator: "&")
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Data(text.map(SimulatedField.encoded).joined(separator: "&").utf8),
            using: SymmetricKey(data: Data(key.utf8)))
        return Data(code).base64EncodedString()
    }
}

extension SimulatedRequest {
    /// Returns the request with an OAuth 1.0a header that is signed with the sample consumer key.
    ///
    /// - Parameters:
    ///   - token: The token and its secret; nil to request a token.
    ///   - now: The time of the request, in milliseconds since 1970.
    ///   - nonce: A string that is unique among the requests with the same token in the same
    ///     second.
    ///   - more: Further parameters, such as `oauth_verifier`; they replace the usual ones.
    package func signed(
        _ token: (text: String, secret: String)?, at now: Int64, nonce: String,
        _ more: [String: String] = [:]
    ) -> SimulatedRequest {
        var parameters = [
            "oauth_consumer_key": SimulatorAccount.consumerKey, "oauth_nonce": nonce,
            "oauth_signature_method": "HMAC-SHA1", "oauth_timestamp": String(now / 1_000),
            "oauth_version": "1.0",
        ]
        parameters["oauth_token"] = token?.text
        parameters.merge(more) { $1 }
        var signed = self
        func write() {
            let text = parameters.sorted { $0.key < $1.key }
                .map { "\($0.key)=\"\(SimulatedField.encoded($0.value))\"" }
                .joined(separator: ", ")
            signed.headers.removeAll { $0.name == "Authorization" }
            signed.headers.append(SimulatedField("Authorization", "OAuth \(text)"))
        }
        write()
        parameters["oauth_signature"] = SimulatedOAuth.signature(
            of: signed, consumerSecret: SimulatorAccount.consumerSecret,
            tokenSecret: token?.secret ?? "")
        write()
        return signed
    }
}
