internal import Hummingbird
internal import NIOCore

/// The context of a request, which gives the responder access to the connection.
struct SyncRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The identity of the connection until it is closed.
    var connection: ObjectIdentifier { ObjectIdentifier(channel) }

    /// Ends the reading of the connection; the response can still be written.
    @Sendable func stopReading() { channel.close(mode: .input, promise: nil) }

    /// Closes the connection after `ServerLimits.unreadBodySecondsMax`, so that the response can
    /// reach the client even if the client is still sending.
    ///
    /// The rest of the body that arrives until then is discarded, and the gate refuses other
    /// requests.
    func closeSoon(_ gate: RequestGate) {
        let channel = channel
        let connection = connection
        gate.refuseMore(on: connection)
        channel.closeFuture.whenComplete { _ in gate.forget(connection) }
        channel.eventLoop.scheduleTask(in: .seconds(Int64(ServerLimits.unreadBodySecondsMax))) {
            channel.close(promise: nil)
        }
    }
}
