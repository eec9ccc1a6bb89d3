internal import Foundation
internal import TapedeckModel

/// A request to a remote, as a value: connectors make it and never send it.
package struct RemoteRequest: Hashable, Sendable {
    /// A name and a value, in the order in which they are sent.
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
        /// The file whose bytes it is; it is streamed.
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
    /// Behind the remote's address, each part already percent-encoded; begins with a slash.
    package var path: String
    package var query: [Field]
    package var headers: [Field]
    package var body: Body

    /// Whether it carries media, and not only facts.
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

    /// A text as one part of a path, so that a hostile id stays inside its part.
    package static func segment(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    /// Fields as they stand in a query or a form.
    package static func encoded(_ fields: [Field]) -> String {
        fields.map { "\(segment($0.name))=\(segment($0.value))" }.joined(separator: "&")
    }

    // RFC 3986, 2.3.
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

/// What a remote answered.
package struct RemoteResponse: Hashable, Sendable {
    package var status: Int
    package var headers: [RemoteRequest.Field]
    package var body: [UInt8]
    /// When it came in by the clock here, in Unix milliseconds.
    package var receivedAt: Int64?

    package init(status: Int, headers: [RemoteRequest.Field] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first header of a name, whatever its case.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// When the remote says that it answered, in Unix milliseconds; nil where it does not.
    ///
    /// The header tells seconds only. Where the clock here agrees with it, it tells the milliseconds, so that
    /// of two answers of one second the later one is newer.
    package var date: Int64? {
        guard let told = toldDate else { return nil }
        guard let receivedAt, (told..<told + RemoteResponse.agreement).contains(receivedAt) else {
            return told
        }
        return receivedAt
    }

    /// How far behind the second of its header an answer may come in, in milliseconds.
    private static let agreement: Int64 = 2_000

    private var toldDate: Int64? {
        guard let text = header("Date") else { return nil }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.date(from: text).map { Int64($0.timeIntervalSince1970 * 1_000) }
    }

    /// How long the remote asks to be left alone, in milliseconds.
    package var retryAfter: UInt64? {
        RetryAfter.milliseconds(header("Retry-After"))
    }

    /// What the status alone says; nil for success.
    ///
    /// Connectors of remotes that tell by other means read those first.
    package var failure: SyncFailure? {
        switch status {
        case 200..<300: nil
        case 401, 403:
            SyncFailure(
                .unauthorized, "the remote does not take the login", hint: "storectl login NAME")
        case 404, 410: SyncFailure(.notFound, "the remote knows no such thing (\(status))")
        case 413: SyncFailure(.tooLarge, "the remote takes nothing this large")
        case 429:
            SyncFailure(.throttled, "the remote asks for fewer requests", retryAfter: retryAfter)
        case 500...:
            SyncFailure(
                .unavailable, "the remote failed with \(status)", retryAfter: retryAfter)
        default: SyncFailure(.remoteError, "the remote refused with \(status)")
        }
    }
}
