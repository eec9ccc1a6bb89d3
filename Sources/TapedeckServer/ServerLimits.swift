internal import TapedeckSyncProtocol

/// The limits of the server.
package enum ServerLimits {
    /// The longest body of a request, before and after decompression: a push and what frames it.
    package static let bodyBytesMax = SyncLimits.pushBytesMax + (64 << 10)
    /// The longest body of any other request.
    package static let smallBodyBytesMax = 64 << 10
    /// Bytes of bodies that are held at a time, all requests together.
    package static let heldBytesMax = 512 << 20
    /// Requests that are answered at a time, live connections apart.
    package static let requestsMax = 4_096
    /// Pushes that wait for a commit.
    package static let waitingMax = 2_048
    /// Connections at a time.
    package static let connectionsMax = 65_536
    /// Live connections of one space.
    package static let liveConnectionsPerSpaceMax = 16_384
    /// How long a connection may stay open without a request.
    package static let idleSecondsMax = 120
    /// How long the body of a request may take to arrive.
    package static let bodySecondsMax = 300
    /// How often a live connection says that it is alive.
    package static let keepAliveSeconds = 15
    /// How long a client is asked to wait when the server is busy or going away.
    package static let retryAfterSeconds = 1
    /// How long requests under way may take after the server was told to end.
    package static let shutdownSecondsMax = 30
    /// Bytes after which a group of pushes is committed.
    package static let bytesPerCommitMax = 16 << 20
    /// Pushes in one commit.
    package static let pushesPerCommitMax = 1_024
    /// Headers of a request, all together.
    package static let headerBytesMax = 16 << 10
    /// The longest name of a space or token.
    package static let nameCountMax = 64
    /// Threads that read for pulls.
    package static let readersMax = 4
}
