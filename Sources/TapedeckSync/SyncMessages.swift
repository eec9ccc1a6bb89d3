package import TapedeckSyncProtocol

/// A request of a device to a server.
package enum SyncRequest: Hashable, Sendable {
    case handshake(WireHandshakeRequest)
    case lineage(WireLineageRequest)
    case push(WirePushRequest)
    case pull(WirePullRequest)
}

/// The response of a server.
package enum SyncResponse: Hashable, Sendable {
    /// The response to a handshake or to a request for a new lineage.
    case handshake(WireHandshakeResponse)
    case push(WirePushResponse)
    case pull(WirePullResponse)
}

/// A connection to a server; see `HTTPSyncConnector`.
///
/// If it loses a request or its response, or delivers a request late or twice, this only costs
/// time.
package protocol SyncConnector: Sendable {
    /// Sends a request and waits for the response.
    func send(_ request: SyncRequest) async throws(SyncFailure) -> SyncResponse
    /// Returns the positions of the server's head as they are announced; ends with the connection.
    func heads() async throws(SyncFailure) -> AsyncStream<UInt64>
    /// Closes the connections.
    func close() async
}
