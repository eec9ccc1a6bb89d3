internal import TapedeckSyncProtocol

/// The limits of the server.
package enum ServerLimits {
    /// The maximum body size of a push request in bytes, before and after decompression, including
    /// framing.
    package static let bodyBytesMax = SyncLimits.pushBytesMax + (64 << 10)
    /// The maximum body size of any other request, in bytes.
    package static let smallBodyBytesMax = 64 << 10
    /// The maximum total size of the bodies of all requests in memory, in bytes.
    package static let heldBytesMax = 512 << 20
    /// The maximum number of concurrent requests, not counting live connections.
    package static let requestsMax = 4_096
    /// The maximum number of pushes waiting for a commit.
    package static let waitingMax = 2_048
    /// The maximum number of concurrent connections.
    package static let connectionsMax = 65_536
    /// The maximum number of live connections per space.
    package static let liveConnectionsPerSpaceMax = 16_384
    /// The time, in seconds, after which an idle connection is closed.
    package static let idleSecondsMax = 120
    /// The time, in seconds, after which the connection of an answered request is closed if the
    /// server has not read the body of the request.
    ///
    /// A client that is still sending reads the response only if it arrives before the connection
    /// is closed.
    package static let unreadBodySecondsMax = 1
    /// The interval of keep-alive messages on a live connection, in seconds.
    package static let keepAliveSeconds = 15
    /// The time, in seconds, that clients are asked to wait while the server is busy or shutting
    /// down.
    package static let retryAfterSeconds = 1
    /// The time, in seconds, that pending requests may take during a shutdown.
    package static let shutdownSecondsMax = 30
    /// The maximum total size of the pushes in one commit, in bytes; a single larger push is
    /// committed alone.
    package static let bytesPerCommitMax = 16 << 20
    /// The maximum number of pushes per commit.
    package static let pushesPerCommitMax = 1_024
    /// The maximum total size of a request's headers, in bytes.
    package static let headerBytesMax = 16 << 10
    /// The maximum length of the name of a space or token, in bytes.
    package static let nameCountMax = 64
    /// The number of queues for reads.
    package static let readersMax = 4
}
