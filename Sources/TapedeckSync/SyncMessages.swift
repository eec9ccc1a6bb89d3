package import TapedeckSyncProtocol

/// What a device asks a server.
package enum SyncRequest: Hashable, Sendable {
    case handshake(WireHandshakeRequest)
    case lineage(WireLineageRequest)
    case push(WirePushRequest)
    case pull(WirePullRequest)
}

/// What a server answers.
package enum SyncResponse: Hashable, Sendable {
    /// To a handshake, and to asking for a new lineage.
    case handshake(WireHandshakeResponse)
    case push(WirePushResponse)
    case pull(WirePullResponse)
}

/// The way to a server; see `HTTPSyncConnector`.
///
/// Whatever it does to a request - lose it, lose its answer, deliver it twice or late - costs time only.
package protocol SyncConnector: Sendable {
    /// Sends a request and waits for its answer.
    func send(_ request: SyncRequest) async throws(SyncFailure) -> SyncResponse
    /// The heads that the server tells of, from now on; ends when the connection does.
    func heads() async throws(SyncFailure) -> AsyncStream<UInt64>
    /// Lets go of its connections.
    func close() async
}
