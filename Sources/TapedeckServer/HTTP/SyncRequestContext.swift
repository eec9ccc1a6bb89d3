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

    /// Closes the connection after `ServerLimits.unreadBodySecondsMax`, so that the response can
    /// reach the client even if the client is still sending.
    ///
    /// Everything that arrives until then is discarded.
    func closeSoon() {
        let channel = channel
        channel.eventLoop.scheduleTask(in: .seconds(Int64(ServerLimits.unreadBodySecondsMax))) {
            channel.close(promise: nil)
        }
    }
}
