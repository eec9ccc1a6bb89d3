internal import TapedeckSyncProtocol

/// The limits of the server.
package enum ServerLimits {
    /// The maximum body size of a push request in bytes, before and after decompression, including
    /// framing.
    package static let bodyBytesMax = SyncLimits.pushBytesMax + (64 << 10)
    /// The maximum body size of any other request, in bytes.
    package static let smallBodyBytesMax = 64 << 10
    /// The maximum total size of the bodies in memory, over all requests, in bytes.
    package static let heldBytesMax = 512 << 20
    /// The maximum number of concurrent requests, not counting live connections.
    package static let requestsMax = 4_096
    /// The maximum number of pushes waiting for a commit.
    package static let waitingMax = 2_048
    /// The maximum number of concurrent connections.
    package static let connectionsMax = 65_536
    /// The maximum number of live connections per space.
    package static let liveConnectionsPerSpaceMax = 16_384
    /// The time after which an idle connection is closed, in seconds.
    package static let idleSecondsMax = 120
    /// The time within which a request's body must arrive, in seconds.
    package static let bodySecondsMax = 300
    /// The interval of keep-alive messages on a live connection, in seconds.
    package static let keepAliveSeconds = 15
    /// The delay requested of clients while the server is busy or shutting down, in seconds.
    package static let retryAfterSeconds = 1
    /// The time that pending requests may take during a shutdown, in seconds.
    package static let shutdownSecondsMax = 30
    /// The size after which a group of pushes is committed, in bytes.
    package static let bytesPerCommitMax = 16 << 20
    /// The maximum number of pushes per commit.
    package static let pushesPerCommitMax = 1_024
    /// The maximum total size of a request's headers, in bytes.
    package static let headerBytesMax = 16 << 10
    /// The maximum length of a space's or token's name.
    package static let nameCountMax = 64
    /// The number of threads that read for pulls.
    package static let readersMax = 4
}
