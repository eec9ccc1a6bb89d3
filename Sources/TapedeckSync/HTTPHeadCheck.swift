internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1

/// The reason why the head of a response was refused.
enum HTTPHeadError: Error {
    /// The status is below 100.
    case invalidStatus(Int)
    /// More than `HTTPHeadCheck.interimMax` interim responses preceded the response.
    case tooManyInterim
}

/// Refuses response heads that HTTP does not allow, and removes whitespace around header values.
///
/// The whitespace is not part of the values (RFC 9110, section 5.5), but the HTTP decoder keeps it.
///
/// AsyncHTTPClient treats every status below 200, except 101, as an interim response and waits for
/// the final one. The HTTP decoder does so only from 100, so it reports the end of a response with a
/// lower status, and AsyncHTTPClient ends the process. One flipped bit turns 200 into 000.
final class HTTPHeadCheck: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    /// The number of interim responses, such as 103, that may precede a response.
    static let interimMax = 8

    private var interimCount = 0
    /// Whether a head was refused; everything that follows it is ignored.
    private var hasFailed = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasFailed else { return }
        switch unwrapInboundIn(data) {
        case .head(let head) where head.status.code < 100:
            fail(.invalidStatus(Int(head.status.code)), context)
        case .head(let head) where head.status.code < 200 && head.status != .switchingProtocols:
            interimCount += 1
            guard interimCount <= HTTPHeadCheck.interimMax else {
                return fail(.tooManyInterim, context)
            }
            context.fireChannelRead(data)
        case .head(var head):
            interimCount = 0
            head.headers = HTTPHeadCheck.withoutOuterSpace(head.headers)
            context.fireChannelRead(Self.wrapInboundOut(.head(head)))
        case .body, .end:
            context.fireChannelRead(data)
        }
    }

    private static func withoutOuterSpace(_ headers: HTTPHeaders) -> HTTPHeaders {
        func isSpace(_ byte: UInt8?) -> Bool {
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
        }
        // Usually, there is nothing to remove.
        guard headers.contains(where: { isSpace($1.utf8.first) || isSpace($1.utf8.last) }) else {
            return headers
        }
        return HTTPHeaders(
            headers.map { name, value in
                var value = value[...]
                while isSpace(value.utf8.first) { value.unicodeScalars.removeFirst() }
                while isSpace(value.utf8.last) { value.unicodeScalars.removeLast() }
                return (name, String(value))
            })
    }

    private func fail(_ error: HTTPHeadError, _ context: ChannelHandlerContext) {
        hasFailed = true
        context.fireErrorCaught(error)
        context.close(promise: nil)
    }
}

extension HTTPClient {
    /// Creates a client that checks the heads of all responses.
    ///
    /// Connections use HTTP/1.1, because the check needs its decoder. A client sends few requests at
    /// a time, so HTTP/2 would gain nothing.
    static func checked(_ configuration: Configuration) -> HTTPClient {
        var configuration = configuration
        configuration.httpVersion = .http1Only
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.eventLoop.submit {
                let pipeline = channel.pipeline.syncOperations
                let decoder = try pipeline.handler(
                    type: ByteToMessageHandler<HTTPResponseDecoder>.self)
                try pipeline.addHandler(HTTPHeadCheck(), position: .after(decoder))
            }
        }
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }
}
