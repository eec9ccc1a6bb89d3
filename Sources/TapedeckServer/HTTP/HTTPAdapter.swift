internal import NIOCore
internal import NIOHTTP1
internal import TapedeckModel
internal import TapedeckSyncProtocol

/// Completes what the HTTP library does with each connection.
///
/// - The library rejects an invalid request without a body. The adapter adds the error; no other
///   response with status 400 is empty.
/// - The library keeps a connection open unless its request contains exactly `Connection: close`.
///   The adapter adds this header to all other requests after which HTTP closes the connection,
///   such as requests in HTTP/1.0.
final class HTTPAdapter: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = Self.unwrapInboundIn(data), !head.isKeepAlive else {
            return context.fireChannelRead(data)
        }
        head.headers.replaceOrAdd(name: "Connection", value: "close")
        context.fireChannelRead(Self.wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = Self.unwrapOutboundIn(data), head.status == .badRequest,
            head.headers["Content-Length"] == ["0"]
        else { return context.write(data, promise: promise) }
        let error = ServerError(
            .malformedRequest, "the request does not follow HTTP, or its headers are too large",
            hint: "check the program and the proxies that sent the request")
        // The request's headers are unknown, so the error is readable for people.
        let body = (try? error.wire.encoded(as: .json)) ?? []
        head.headers.replaceOrAdd(name: "Content-Length", value: String(body.count))
        head.headers.replaceOrAdd(name: "Content-Type", value: WireFormat.json.mediaType)
        head.headers.replaceOrAdd(name: "Cache-Control", value: "no-store")
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        context.write(
            Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: promise)
    }

    /// Adds the handler next to the decoder, where messages have the types of `NIOHTTP1`.
    ///
    /// Hummingbird itself adds handlers only after the codec that converts these types.
    final class Installer: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = NIOAny

        func handlerAdded(context: ChannelHandlerContext) {
            let pipeline = context.pipeline.syncOperations
            do {
                let decoder = try pipeline.handler(
                    type: ByteToMessageHandler<HTTPRequestDecoder>.self)
                try pipeline.addHandler(HTTPAdapter(), position: .after(decoder))
                // Otherwise, each of thousands of connections would keep a handler without a task.
                pipeline.removeHandler(context: context, promise: nil)
            } catch {
                context.fireErrorCaught(error)
            }
        }
    }
}
