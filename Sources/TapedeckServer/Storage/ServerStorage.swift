package import Foundation
package import TapedeckModel
package import TapedeckSyncProtocol

/// The storage for the logs and tokens of a server's spaces: everything that the HTTP layer needs.
///
/// Every implementation guarantees the following, which the conformance suite checks:
/// 1. Positions in a space are dense and start at 1; an entry never moves or changes.
/// 2. `receivedAt` strictly increases with the position, whatever the clock does.
/// 3. A push is durable before it is confirmed. Repeating a push at any time returns the same
///    positions, times and refusals, and adds nothing.
/// 4. An origin's events are stored in the order of their sequence numbers, without gaps.
/// 5. Spaces are isolated from each other.
/// 6. A new token is valid immediately; a revoked token is invalid immediately.
package protocol ServerStorage: Sendable {
    /// Returns the lineage of a space and the last sequence number of each of its origins.
    func handshake(_ space: SpaceID) async throws(ServerError) -> WireHandshakeResponse

    /// Adds entries (`WirePushRequest.entries`) in order, and stops at the first problem.
    ///
    /// Throws `.lineageChanged`, `.damaged`, `.diskFull`, `.unavailable` (too many pushes are
    /// waiting).
    func push(
        _ space: SpaceID, lineage: LineageID, entries: Data, bases: [WireOriginState]
    ) async throws(ServerError) -> WirePushResponse

    /// Returns the entries after a cursor: about `bytesMax` bytes, but at least one entry if there
    /// are any.
    ///
    /// The device already has the events that come after `held` in the same origin, so these events
    /// are returned as references. Throws `.lineageChanged`, `.cursorMismatch`, `.damaged`.
    func pull(
        _ space: SpaceID, after cursor: SyncCursor, bytesMax: Int, held: EventID?
    ) async throws(ServerError) -> WirePullResponse

    /// Begins a new lineage if the cursor, or a receipt of the current lineage, proves that entries
    /// were lost; the log is kept.
    func renewLineage(
        _ space: SpaceID, cursor: SyncCursor, proof: Receipt?, hasReturned: Bool
    ) async throws(ServerError) -> WireHandshakeResponse

    /// Returns the head of a space's log.
    func head(of space: SpaceID) async throws(ServerError) -> SpaceHead

    /// Calls `body` on an unspecified thread after each change to a head or a lineage, for the
    /// lifetime of this object.
    func observeHeads(_ body: @escaping @Sendable (SpaceID, SpaceHead) -> Void)

    /// Returns the space that a token grants access to; nil if the token is unknown or revoked.
    func space(forToken token: String) async throws(ServerError) -> SpaceID?

    /// Creates a token for a space; also creates the space if it does not exist.
    func createToken(space: String, name: String) async throws(ServerError) -> NewToken

    /// Returns all tokens ever created, oldest first.
    func tokens() async throws(ServerError) -> [TokenInfo]

    /// Revokes a token; throws `.notFound` if it does not exist.
    @discardableResult
    func revokeToken(_ id: String) async throws(ServerError) -> TokenInfo

    /// Returns the counts that `/metrics` reports.
    func counts() async throws(ServerError) -> StorageCounts

    /// Throws the error that prevents further writes, if there is one.
    func checkHealth() throws(ServerError)
}

/// The activity of a storage backend since it was opened, and the size of its contents.
package struct StorageCounts: Hashable, Sendable {
    package var spaces = 0
    /// The sum of all heads, which is the number of entries.
    package var headsTotal: UInt64 = 0
    package var commits: UInt64 = 0
    package var commitSeconds = 0.0

    package init() {}
}

extension ServerStorage {
    /// Pushes entries without `bases`.
    package func push(
        _ space: SpaceID, lineage: LineageID, entries: Data
    ) async throws(ServerError) -> WirePushResponse {
        try await push(space, lineage: lineage, entries: entries, bases: [])
    }

    /// Renews the lineage for a device that has not seen a later lineage.
    package func renewLineage(
        _ space: SpaceID, cursor: SyncCursor, proof: Receipt?
    ) async throws(ServerError) -> WireHandshakeResponse {
        try await renewLineage(space, cursor: cursor, proof: proof, hasReturned: false)
    }

    /// Renews the lineage based on the cursor alone.
    package func renewLineage(
        _ space: SpaceID, cursor: SyncCursor
    ) async throws(ServerError) -> WireHandshakeResponse {
        try await renewLineage(space, cursor: cursor, proof: nil, hasReturned: false)
    }
}
