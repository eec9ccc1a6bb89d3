package import TapedeckSyncProtocol

/// A request from a device to a server.
package enum SyncRequest: Hashable, Sendable {
    case handshake(WireHandshakeRequest)
    case lineage(WireLineageRequest)
    case push(WirePushRequest)
    case pull(WirePullRequest)
}

/// A response from a server.
package enum SyncResponse: Hashable, Sendable {
    /// The response to a handshake or to a request for a new lineage.
    case handshake(WireHandshakeResponse)
    case push(WirePushResponse)
    case pull(WirePullResponse)
}

/// A connection to a server; see `HTTPSyncConnector`.
///
/// If a request or its response is lost, or if a request arrives late or twice, the sync takes
/// longer but stays correct.
package protocol SyncConnector: Sendable {
    /// Sends a request and waits for the response.
    func send(_ request: SyncRequest) async throws(SyncFailure) -> SyncResponse
    /// Returns a stream of the head positions that the server announces; it ends with the
    /// connection.
    func heads() async throws(SyncFailure) -> AsyncStream<UInt64>
    /// Closes the connections.
    func close() async
}
