internal import Crypto
internal import Foundation
internal import TapedeckSync

/// The signature of OAuth 1.0a with HMAC-SHA1 (RFC 5849, 3.4).
enum OAuthSignature {
    /// Signs a request with the account's token and secret, and with the consumer key and secret.
    static func add(
        to request: inout RemoteRequest, _ account: RemoteAccount, _ moment: RequestMoment
    ) {
        var fields: [RemoteRequest.Field] = [
            .init("oauth_consumer_key", account.details["consumerKey"] ?? ""),
            .init("oauth_nonce", String(moment.nonce, radix: 16)),
            .init("oauth_signature_method", "HMAC-SHA1"),
            .init("oauth_timestamp", String(moment.now / 1_000)),
            .init("oauth_token", account.token), .init("oauth_version", "1.0"),
        ]
        let signature = signature(
            of: request, fields, base: moment.base,
            consumerSecret: account.details["consumerSecret"] ?? "",
            tokenSecret: account.tokenSecret ?? "")
        fields.append(.init("oauth_signature", signature))
        let text = fields.map { "\($0.name)=\"\(RemoteRequest.segment($0.value))\"" }
            .joined(separator: ", ")
        request.headers.append(.init("Authorization", "OAuth " + text))
    }

    static func signature(
        of request: RemoteRequest, _ fields: [RemoteRequest.Field], base: String,
        consumerSecret: String, tokenSecret: String
    ) -> String {
        var all = fields + request.query
        if case .form(let form) = request.body { all += form }
        // Sort by encoded name and value, as section 3.4.1.3.2 requires.
        let pairs = all.map {
            (RemoteRequest.segment($0.name), RemoteRequest.segment($0.value))
        }.sorted { $0 < $1 }
        let normalized = pairs.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        let text = [request.method, base + request.path, normalized]
            .map(RemoteRequest.segment).joined(separator: "&")
        let key = [consumerSecret, tokenSecret].map(RemoteRequest.segment).joined(separator: "&")
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Data(text.utf8), using: SymmetricKey(data: Data(key.utf8)))
        return Data(code).base64EncodedString()
    }
}
