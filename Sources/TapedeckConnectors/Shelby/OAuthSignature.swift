internal import Crypto
internal import Foundation
internal import TapedeckSync

/// The signature of OAuth 1.0a with HMAC-SHA1 (RFC 5849, 3.4).
enum OAuthSignature {
    /// Signs a request with the account's token and secret, and with the consumer key and secret.
    ///
    /// An account with an empty token has only the consumer's credentials.
    ///
    /// - Parameter fields: Further protocol parameters, such as `oauth_verifier`.
    static func add(
        to request: inout RemoteRequest, _ account: RemoteAccount, _ moment: RequestMoment,
        _ fields: [RemoteRequest.Field] = []
    ) {
        var fields =
            fields + [
                .init("oauth_consumer_key", account.details["consumerKey"] ?? ""),
                .init("oauth_nonce", String(moment.nonce, radix: 16)),
                .init("oauth_signature_method", "HMAC-SHA1"),
                .init("oauth_timestamp", String(moment.now / 1_000)), .init("oauth_version", "1.0"),
            ]
        if !account.token.isEmpty { fields.append(.init("oauth_token", account.token)) }
        let signature = signature(
            of: request, fields, base: moment.base,
            consumerSecret: account.details["consumerSecret"] ?? "",
            tokenSecret: account.tokenSecret ?? "")
        fields.append(.init("oauth_signature", signature))
        let text = fields.map { "\($0.name)=\"\(RemoteRequest.segment($0.value))\"" }
            .joined(separator: ", ")
        request.headers.append(.init("Authorization", "OAuth " + text))
    }

    /// Returns the signature of a request (section 3.4.2).
    static func signature(
        of request: RemoteRequest, _ fields: [RemoteRequest.Field], base: String,
        consumerSecret: String, tokenSecret: String
    ) -> String {
        let text = baseString(of: request, fields, base: base)
        let key = [consumerSecret, tokenSecret].map(RemoteRequest.segment).joined(separator: "&")
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Data(text.utf8), using: SymmetricKey(data: Data(key.utf8)))
        return Data(code).base64EncodedString()
    }

    /// Returns the signature base string of a request (section 3.4.1).
    static func baseString(
        of request: RemoteRequest, _ fields: [RemoteRequest.Field], base: String
    ) -> String {
        var all = fields + request.query
        if case .form(let form) = request.body { all += form }
        return [request.method, address(base + request.path), normalized(all)]
            .map(RemoteRequest.segment).joined(separator: "&")
    }

    /// Returns the parameters, sorted by encoded name and value (section 3.4.1.3.2).
    static func normalized(_ fields: [RemoteRequest.Field]) -> String {
        fields.map { (RemoteRequest.segment($0.name), RemoteRequest.segment($0.value)) }
            .sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    /// Returns an address with scheme and host in lowercase, without the default port and the query
    /// (section 3.4.1.2).
    static func address(_ url: String) -> String {
        guard var parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased() else {
            return url
        }
        parts.scheme = scheme
        parts.percentEncodedHost = parts.percentEncodedHost?.lowercased()
        if parts.port == (scheme == "https" ? 443 : 80) { parts.port = nil }
        if parts.percentEncodedPath.isEmpty { parts.percentEncodedPath = "/" }
        (parts.percentEncodedQuery, parts.fragment) = (nil, nil)
        return parts.string ?? url
    }
}
