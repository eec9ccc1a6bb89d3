internal import Hummingbird
internal import NIOCore

/// Passes HTTP requests to a simulator and converts its responses.
struct SimulatorResponder: Sendable {
    let host: SimulatorHost

    /// The maximum size of a request body, which is kept in memory; a two-minute video fits.
    private static let bodyBytesMax = 256 << 20

    /// Returns the response to a request; nil to close the connection without a response.
    func respond(to request: Request) async throws -> Response? {
        var request = request
        let body = try await request.collectBody(upTo: Self.bodyBytesMax)
        let target = request.uri.query.map { "\(request.uri.path)?\($0)" } ?? request.uri.path
        var headers = request.headers.map { SimulatedField($0.name.rawName, $0.value) }
        if let authority = request.head.authority {
            headers.append(SimulatedField("Host", authority))
        }
        let answer = host.respond(
            to: SimulatedRequest(
                request.method.rawValue, target, headers: headers,
                body: Array(body.readableBytesView)))
        guard let answer = answer.response else { return nil }
        var fields = HTTPFields()
        for field in answer.headers {
            guard let name = HTTPFields.Element.Name(field.name) else { continue }
            fields.append(.init(name: name, value: field.value))
        }
        return Response(
            status: .init(code: answer.status), headers: fields,
            body: answer.body.isEmpty ? .init() : .init(byteBuffer: ByteBuffer(bytes: answer.body)))
    }
}
