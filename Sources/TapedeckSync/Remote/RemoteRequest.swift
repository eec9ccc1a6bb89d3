internal import Foundation
internal import TapedeckModel

/// A request to a remote; connectors create requests but never send them.
package struct RemoteRequest: Hashable, Sendable {
    /// A name and a value; fields are sent in order.
    package struct Field: Hashable, Sendable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// One part of a multipart body.
    package struct Part: Hashable, Sendable {
        package var name: String
        package var fileName: String
        package var contentType: String
        /// The path of the file to stream.
        package var path: String

        package init(name: String, fileName: String, contentType: String, path: String) {
            self.name = name
            self.fileName = fileName
            self.contentType = contentType
            self.path = path
        }
    }

    package enum Body: Hashable, Sendable {
        case none
        /// `application/x-www-form-urlencoded`.
        case form([Field])
        /// `application/json`.
        case json([UInt8])
        /// `multipart/form-data`.
        case parts([Part])
    }

    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    package var method: String
    /// The path after the remote's address, starting with a slash; each segment is percent-encoded.
    package var path: String
    package var query: [Field]
    package var headers: [Field]
    package var body: Body

    /// Whether the request contains media files.
    package var hasFiles: Bool {
        if case .parts = body { true } else { false }
    }

    package init(
        _ method: String, _ path: String, query: [Field] = [], headers: [Field] = [],
        body: Body = .none
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
    }

    /// Encodes a string as a single path segment, so that a malicious id cannot add segments to the
    /// path.
    package static func segment(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    /// Encodes fields for a query or a form.
    package static func encoded(_ fields: [Field]) -> String {
        fields.map { "\(segment($0.name))=\(segment($0.value))" }.joined(separator: "&")
    }

    /// Decodes the fields of a query or a form; a `+` is a space.
    package static func fields(of text: String) -> [Field] {
        func decoded(_ part: Substring) -> String {
            let part = part.replacing("+", with: " ")
            return part.removingPercentEncoding ?? String(part)
        }
        return text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return Field(decoded(parts[0]), parts.count > 1 ? decoded(parts[1]) : "")
        }
    }

    // RFC 3986, 2.3.
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

/// A response from a remote.
package struct RemoteResponse: Hashable, Sendable {
    package var status: Int
    package var headers: [RemoteRequest.Field]
    package var body: [UInt8]
    /// The local time of arrival, in milliseconds since 1970.
    package var receivedAt: Int64?

    package init(status: Int, headers: [RemoteRequest.Field] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Returns the first header with the given name, ignoring case.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The time of the response according to the remote, in milliseconds since 1970; nil if the
    /// response has no valid `Date` header.
    ///
    /// The `Date` header has no milliseconds. If the local clock agrees with the header, the local
    /// time is returned instead, so that two responses within the same second can be ordered.
    package var date: Int64? {
        guard let told = toldDate else { return nil }
        guard let receivedAt, (told..<told + RemoteResponse.agreement).contains(receivedAt) else {
            return told
        }
        return receivedAt
    }

    /// The number of milliseconds by which the local clock may be ahead of the `Date` header and
    /// still agree with it.
    private static let agreement: Int64 = 2_000

    private var toldDate: Int64? {
        header("Date").flatMap(HTTPDate.milliseconds)
    }

    /// The pause requested by the remote, in milliseconds.
    package var retryAfter: UInt64? {
        header("Retry-After").flatMap {
            RetryAfter.milliseconds($0, now: toldDate ?? receivedAt ?? 0)
        }
    }

    /// The failure for a server error; a 503 response that says when to retry means that the remote
    /// has not carried out the request.
    private var unavailable: SyncFailure {
        var failure = SyncFailure(
            .unavailable, "the remote failed with \(status)", retryAfter: retryAfter)
        failure.isUnsent = status == 503 && failure.retryAfter != nil
        return failure
    }

    /// The failure implied by the status; nil for success.
    ///
    /// If a remote reports errors differently, its connector checks for those errors first.
    package var failure: SyncFailure? {
        switch status {
        case 200..<300: nil
        case 300..<400:
            SyncFailure(
                .redirected, "the remote redirects requests to another address",
                hint: "sign in to the network, or check the remote's address")
        case 401, 403:
            SyncFailure(.unauthorized, "the remote rejected the login")
        case 404, 410: SyncFailure(.notFound, "not found on the remote (\(status))")
        case 413: SyncFailure(.tooLarge, "the request is too large for the remote")
        case 429:
            SyncFailure(.throttled, "the remote's rate limit was exceeded", retryAfter: retryAfter)
        case 500...: unavailable
        default: SyncFailure(.remoteError, "the remote refused the request with \(status)")
        }
    }
}
