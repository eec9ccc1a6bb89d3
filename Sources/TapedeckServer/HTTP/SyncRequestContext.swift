internal import Hummingbird
internal import NIOCore

/// The connection of a request, as the responder sees it.
struct SyncRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// Closes the connection after one second, so that the response can arrive even if the client
    /// is still sending.
    func closeSoon() {
        let channel = channel
        channel.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
    }
}
