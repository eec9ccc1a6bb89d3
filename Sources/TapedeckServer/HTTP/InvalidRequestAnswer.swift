internal import NIOCore
internal import NIOHTTP1
internal import TapedeckModel
internal import TapedeckSyncProtocol

/// Adds the error to the response with which the HTTP library rejects an invalid request.
///
/// The library's response has no body, and no other response with status 400 is empty.
final class InvalidRequestAnswer: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

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
                try pipeline.addHandler(InvalidRequestAnswer(), position: .after(decoder))
            } catch {
                context.fireErrorCaught(error)
            }
        }
    }
}
