/// An HTTP response from a simulator.
public struct SimulatedResponse: Hashable, Sendable {
    /// The HTTP status.
    public var status: Int
    /// The headers in order.
    public var headers: [SimulatedField]
    /// The body as sent.
    public var body: [UInt8]

    /// Creates a response.
    public init(status: Int, headers: [SimulatedField] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The body as a string.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Returns the first header with the given name, ignoring case.
    public func header(_ name: String) -> String? {
        let wanted = name.lowercased()
        return headers.first { $0.name.lowercased() == wanted }?.value
    }

    static func json(_ status: Int, _ value: SimulatedJSON) -> SimulatedResponse {
        SimulatedResponse(
            status: status,
            headers: [SimulatedField("Content-Type", "application/json; charset=utf-8")],
            body: value.bytes)
    }

    static func empty(_ status: Int) -> SimulatedResponse { SimulatedResponse(status: status) }
}

/// The result of a request.
public enum SimulatedAnswer: Hashable, Sendable {
    /// The system responded.
    case answer(SimulatedResponse)
    /// The connection was closed without a response; the request may have taken effect.
    case cut

    /// The response; nil if the connection was cut.
    public var response: SimulatedResponse? {
        if case .answer(let response) = self { response } else { nil }
    }
}
