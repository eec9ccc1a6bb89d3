package import Foundation
package import TapedeckModel
package import TapedeckSyncProtocol

/// What keeps the logs of a server's spaces: all that the HTTP layer needs.
///
/// What every implementation promises, and the conformance suite checks:
/// 1. Positions are dense from 1 in a space; an entry never moves and never changes.
/// 2. `receivedAt` strictly rises with the position, whatever the clock does.
/// 3. What `push` has answered is durable. A push that is repeated, whenever, gives the same
///    positions, times and refusals, and adds nothing.
/// 4. An origin's events stand in the order of their sequences, without gaps.
/// 5. Spaces know nothing of each other.
/// 6. A new token counts at once, a revoked one no longer.
package protocol ServerStorage: Sendable {
    /// Which lineage a space is in, and what it knows of which origin.
    func handshake(_ space: SpaceID) async throws(ServerError) -> WireHandshakeResponse

    /// Takes entries (`WirePushRequest.entries`), in order, and stops at the first problem.
    ///
    /// Throws `.lineageChanged`, `.damaged`, `.diskFull`, `.unavailable` (too many wait).
    func push(
        _ space: SpaceID, lineage: LineageID, entries: Data, bases: [WireOriginState]
    ) async throws(ServerError) -> WirePushResponse

    /// The entries behind a cursor: about `bytesMax` bytes, but one at least if there is one.
    ///
    /// Events of the origin of `held` that stand behind it come as references. Throws `.lineageChanged`, `.cursorMismatch`, `.damaged`.
    func pull(
        _ space: SpaceID, after cursor: SyncCursor, bytesMax: Int, held: EventID?
    ) async throws(ServerError) -> WirePullResponse

    /// Begins a new lineage, if the cursor or a receipt of this one proves a loss; the log stays.
    func renewLineage(
        _ space: SpaceID, cursor: SyncCursor, proof: Receipt?, hasReturned: Bool
    ) async throws(ServerError) -> WireHandshakeResponse

    /// Where a space's log stands.
    func head(of space: SpaceID) async throws(ServerError) -> SpaceHead

    /// Calls `body` on some thread whenever a head or a lineage has changed, as long as this object is.
    func observeHeads(_ body: @escaping @Sendable (SpaceID, SpaceHead) -> Void)

    /// The space that a token opens; nil if it is unknown or revoked.
    func space(forToken token: String) async throws(ServerError) -> SpaceID?

    /// Makes a token for a space, which is made if there is none of that name.
    func createToken(space: String, name: String) async throws(ServerError) -> NewToken

    /// Every token that was ever made, oldest first.
    func tokens() async throws(ServerError) -> [TokenInfo]

    /// Ends a token; throws `.notFound`.
    @discardableResult
    func revokeToken(_ id: String) async throws(ServerError) -> TokenInfo

    /// Figures for `/metrics`.
    func counts() async throws(ServerError) -> StorageCounts

    /// Throws what keeps it from taking anything more; nil where it is well.
    func checkHealth() throws(ServerError)
}

/// What a storage has done since it was opened, and what it holds.
package struct StorageCounts: Hashable, Sendable {
    package var spaces = 0
    /// The heads of all spaces together: how many entries there are.
    package var headsTotal: UInt64 = 0
    package var commits: UInt64 = 0
    package var commitSeconds = 0.0

    package init() {}
}

extension ServerStorage {
    /// `push` by a device that says nothing of the histories before.
    package func push(
        _ space: SpaceID, lineage: LineageID, entries: Data
    ) async throws(ServerError) -> WirePushResponse {
        try await push(space, lineage: lineage, entries: entries, bases: [])
    }

    /// `renewLineage` by a device that has known no later lineage.
    package func renewLineage(
        _ space: SpaceID, cursor: SyncCursor, proof: Receipt?
    ) async throws(ServerError) -> WireHandshakeResponse {
        try await renewLineage(space, cursor: cursor, proof: proof, hasReturned: false)
    }

    /// `renewLineage` by what was read alone.
    package func renewLineage(
        _ space: SpaceID, cursor: SyncCursor
    ) async throws(ServerError) -> WireHandshakeResponse {
        try await renewLineage(space, cursor: cursor, proof: nil, hasReturned: false)
    }
}
