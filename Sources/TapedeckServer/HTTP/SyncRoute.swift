internal import Hummingbird

/// The routes of the server.
enum SyncRoute: String, CaseIterable, Sendable {
    case handshake = "/v1/handshake"
    case lineage = "/v1/lineage"
    case push = "/v1/push"
    case pull = "/v1/pull"
    case live = "/v1/live"
    case health = "/health"
    case metrics = "/metrics"

    var method: HTTPRequest.Method {
        switch self {
        case .handshake, .lineage, .push, .pull: .post
        case .live, .health, .metrics: .get
        }
    }

    /// The maximum body size in bytes, before and after decompression.
    var bodyBytesMax: Int {
        self == .push ? ServerLimits.bodyBytesMax : ServerLimits.smallBodyBytesMax
    }
}
