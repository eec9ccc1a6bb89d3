internal import Foundation
internal import TapedeckModel

/// A response that redirects a request (RFC 9110, section 15.4).
///
/// A read request is repeated at the new address if that address is on the same server. A write
/// request is never repeated; if the remote cannot have carried it out, it counts as not sent.
struct RemoteRedirect {
    /// The request to send instead; nil if the redirect is not followed.
    let request: RemoteRequest?
    /// The failure if the redirect is not followed.
    let failure: SyncFailure

    /// Returns nil if the response is not a redirect.
    init?(_ response: RemoteResponse, to sent: RemoteRequest, at base: String) {
        guard [301, 302, 303, 307, 308].contains(response.status) else { return nil }
        let from = URL(string: base + sent.path)
        let target = response.header("Location").flatMap { location in
            URL(string: location, relativeTo: from)?.absoluteURL
        }
        let isSameServer =
            target.map { RemoteRedirect.origin($0) } == from.map(RemoteRedirect.origin)
        var failure = SyncFailure(
            .redirected,
            "the remote redirects requests to "
                + (target?.host.map { "\($0.prefix(100))" } ?? "another address"),
            hint: "sign in to the network, or check the remote's address")
        // These statuses mean that the server did not carry out the request, because they ask the
        // client to send the same request to another address.
        failure.isUnsent = !isSameServer || [301, 307, 308].contains(response.status)
        self.failure = failure
        guard sent.method == "GET", isSameServer, let target else {
            request = nil
            return
        }
        request = RemoteRedirect.request(target, below: base, like: sent)
    }

    private static func origin(_ url: URL) -> [String] {
        let scheme = url.scheme?.lowercased() ?? ""
        let port = url.port ?? (scheme == "https" ? 443 : 80)
        return [scheme, url.host?.lowercased() ?? "", String(port)]
    }

    /// Returns a request for an address; nil if the path of the address does not begin with the
    /// path of the remote.
    private static func request(
        _ target: URL, below base: String, like sent: RemoteRequest
    ) -> RemoteRequest? {
        guard let parts = URLComponents(url: target, resolvingAgainstBaseURL: true),
            let root = URLComponents(string: base),
            parts.percentEncodedPath.hasPrefix(root.percentEncodedPath)
        else { return nil }
        let path = String(parts.percentEncodedPath.dropFirst(root.percentEncodedPath.count))
        guard path.hasPrefix("/") else { return nil }
        return RemoteRequest(
            "GET", path,
            query: (parts.queryItems ?? []).map { RemoteRequest.Field($0.name, $0.value ?? "") },
            headers: sent.headers)
    }
}
