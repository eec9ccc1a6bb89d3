internal import Hummingbird
internal import NIOCore

/// Passes HTTP requests to a simulator and sends its responses.
struct SimulatorResponder: HTTPResponder {
    /// The context of a request, including its connection.
    struct Context: RequestContext {
        var coreContext: CoreRequestContextStorage
        let channel: any Channel

        init(source: ApplicationRequestContextSource) {
            coreContext = CoreRequestContextStorage(source: source)
            channel = source.channel
        }
    }

    /// Thrown to end a request without a response.
    private struct Cut: Error {}

    let host: SimulatorHost

    /// The maximum size of a request body, which is kept in memory; a two-minute video fits.
    private static let bodyBytesMax = 256 << 20

    func respond(to request: Request, context: Context) async throws -> Response {
        var request = request
        let body = try await request.collectBody(upTo: Self.bodyBytesMax)
        let target = request.uri.query.map { "\(request.uri.path)?\($0)" } ?? request.uri.path
        let answer = host.respond(
            to: SimulatedRequest(
                request.method.rawValue, target,
                headers: request.headers.map { SimulatedField($0.name.rawName, $0.value) },
                body: Array(body.readableBytesView)))
        switch answer {
        case .cut:
            // Close the connection before the error is converted to a response, so that no response
            // is sent.
            try await context.channel.close().get()
            throw Cut()
        case .answer(let answer):
            var headers = HTTPFields()
            for field in answer.headers {
                guard let name = HTTPFields.Element.Name(field.name) else { continue }
                headers.append(.init(name: name, value: field.value))
            }
            return Response(
                status: .init(code: answer.status), headers: headers,
                body: answer.body.isEmpty
                    ? .init() : .init(byteBuffer: ByteBuffer(bytes: answer.body)))
        }
    }
}
