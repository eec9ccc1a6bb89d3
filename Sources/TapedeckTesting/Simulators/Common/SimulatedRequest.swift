/// An HTTP request to a simulator, without a connection.
///
/// ```swift
/// let request = SimulatedRequest(
///     "PUT", "/v2/broadcasts/\(id).json", headers: ["Authorization": "OAuth oauth_token=\"t\""],
///     form: ["liked_by_owner": "true"])
/// ```
public struct SimulatedRequest: Hashable, Sendable {
    /// The method, such as `GET`.
    public var method: String
    /// The path, which begins with a slash and has no query.
    public var path: String
    /// The query items in order, decoded.
    public var query: [SimulatedField]
    /// The headers in order; their names are not case-sensitive.
    public var headers: [SimulatedField]
    /// The body as sent.
    public var body: [UInt8]

    /// Creates a request; query items after a `?` in `target` come before the items in `query`.
    public init(
        _ method: String, _ target: String, query: [SimulatedField] = [],
        headers: [SimulatedField] = [], body: [UInt8] = []
    ) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.method = method
        path = parts.first.map(String.init) ?? "/"
        self.query = (parts.count > 1 ? SimulatedField.parse(urlEncoded: parts[1]) : []) + query
        self.headers = headers
        self.body = body
    }

    /// Creates a request with a URL-encoded form as its body, or without a body if `form` is nil.
    public init(
        _ method: String, _ target: String, headers: KeyValuePairs<String, String>,
        form: KeyValuePairs<String, String>? = nil
    ) {
        self.init(
            method, target, headers: headers.map { SimulatedField($0.key, $0.value) })
        guard let form else { return }
        let fields = form.map { SimulatedField($0.key, $0.value) }
        self.headers.append(SimulatedField("Content-Type", "application/x-www-form-urlencoded"))
        body = Array(SimulatedField.urlEncoded(fields).utf8)
    }

    /// Returns the first header with a name, ignoring case.
    public func header(_ name: String) -> String? {
        let wanted = name.lowercased()
        return headers.first { $0.name.lowercased() == wanted }?.value
    }

    /// The non-empty segments of the path.
    var segments: [String] { path.split(separator: "/").map(String.init) }
}
