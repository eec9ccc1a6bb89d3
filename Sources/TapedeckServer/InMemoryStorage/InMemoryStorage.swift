package import Foundation
internal import Synchronization
package import TapedeckModel
package import TapedeckSyncProtocol

/// In-memory storage for tests and simulators.
///
/// All methods are synchronous, so that a single-threaded simulator can call them directly. With a
/// deterministic clock and source of lineages, the storage is deterministic.
package final class InMemoryStorage: ServerStorage {
    private let contents: Mutex<Contents>
    private let observers = HeadObservers()
    private let policy: RefusalPolicy
    private let now: @Sendable () -> UInt64
    private let randomLineage: @Sendable () -> LineageID

    fileprivate struct Contents: Sendable {
        var spaces: [InMemorySpace] = []
        var tokens: [[UInt8]: TokenInfo] = [:]
        /// The tokens' hashes in order of creation.
        var order: [[UInt8]] = []
        var commits: UInt64 = 0
    }

    /// Creates an empty storage.
    ///
    /// - Parameters:
    ///   - now: The clock, in Unix milliseconds.
    ///   - randomLineage: Returns a new, unique lineage.
    package init(
        refuses policy: @escaping RefusalPolicy = RefusalPolicies.tooLarge(beyond: nil),
        now: @escaping @Sendable () -> UInt64,
        randomLineage: @escaping @Sendable () -> LineageID
    ) {
        contents = Mutex(Contents())
        self.policy = policy
        self.now = now
        self.randomLineage = randomLineage
    }

    // MARK: - Spaces

    /// Returns the space with the given name, creating it if it does not exist.
    package func space(named name: String) -> SpaceID {
        contents.withLock { space(named: name, &$0) }
    }

    private func space(named name: String, _ contents: inout Contents) -> SpaceID {
        let known = contents.spaces.first { $0.state.name == name }
        if let known { return known.space }
        let space = SpaceID(rawValue: UInt32(contents.spaces.count + 1))
        let state = SpaceState(name: name, lineage: randomLineage())
        contents.spaces.append(InMemorySpace(space, state))
        return space
    }

    package func handshake(_ space: SpaceID) throws(ServerError) -> WireHandshakeResponse {
        try change(space) { try $0.handshake(now: self.now()) }
    }

    package func push(
        _ space: SpaceID, lineage: LineageID, entries: Data, bases: [WireOriginState]
    ) throws(ServerError) -> WirePushResponse {
        try change(space) { rows in
            try entries.withUnsafeBytes { bytes in
                try rows.push(
                    lineage, bytes, bases: bases, now: self.now(), refuses: self.policy)
            }
        }
    }

    package func pull(
        _ space: SpaceID, after cursor: SyncCursor, bytesMax: Int, held: EventID?
    ) throws(ServerError) -> WirePullResponse {
        try change(space) { try $0.pull(after: cursor, bytesMax: bytesMax, held: held) }
    }

    package func renewLineage(
        _ space: SpaceID, cursor: SyncCursor, proof: Receipt?, hasReturned: Bool
    ) throws(ServerError) -> WireHandshakeResponse {
        try change(space) { rows in
            _ = try rows.renewLineage(
                cursor, proof: proof, hasReturned: hasReturned, fresh: self.randomLineage)
            return try rows.handshake(now: self.now())
        }
    }

    package func head(of space: SpaceID) throws(ServerError) -> SpaceHead {
        try change(space) { SpaceHead($0.state) }
    }

    package func observeHeads(_ body: @escaping @Sendable (SpaceID, SpaceHead) -> Void) {
        observers.add(body)
    }

    /// Runs `body` on a space's rows and announces the head if it has changed.
    private func change<R>(
        _ space: SpaceID, _ body: (inout InMemorySpace) throws -> R
    ) throws(ServerError) -> R {
        var changed: [SpaceID: SpaceHead] = [:]
        defer { observers.announce(changed) }
        return try ServerError.wrapping {
            try contents.withLock { contents in
                let index = Int(space.rawValue) - 1
                guard contents.spaces.indices.contains(index) else {
                    throw ServerError.noSpace(space)
                }
                let before = SpaceHead(contents.spaces[index].state)
                defer {
                    let after = SpaceHead(contents.spaces[index].state)
                    if after != before {
                        changed[space] = after
                        contents.commits += 1
                    }
                }
                return try body(&contents.spaces[index])
            }
        }
    }

    // MARK: - Loss

    /// A copy of all stored data.
    package struct Image: Sendable {
        fileprivate var contents: Contents
    }

    /// A backup of the current contents.
    package var image: Image { Image(contents: contents.withLock { $0 }) }

    /// Restores a backup, including lineages, as if the server had lost all later entries.
    package func restore(_ image: Image) {
        contents.withLock { $0 = image.contents }
    }

    /// Empties every space and gives it a new lineage; tokens remain valid.
    package func wipe() {
        contents.withLock { contents in
            contents.spaces = contents.spaces.map { old in
                InMemorySpace(
                    old.space, SpaceState(name: old.state.name, lineage: randomLineage()))
            }
        }
    }

    // MARK: - Tokens

    package func space(forToken token: String) -> SpaceID? {
        contents.withLock { contents in
            guard let info = contents.tokens[SyncToken.hash(token)], info.revokedAt == nil else {
                return nil
            }
            return info.space
        }
    }

    package func createToken(space: String, name: String) throws(ServerError) -> NewToken {
        try SpaceName.check(space, of: "space")
        try SpaceName.check(name, of: "token")
        let token = SyncToken.random()
        let hash = SyncToken.hash(token)
        let info = contents.withLock { contents in
            let info = TokenInfo(
                id: SyncToken.id(ofHash: hash), space: self.space(named: space, &contents),
                spaceName: space, name: name, createdAt: now())
            contents.tokens[hash] = info
            contents.order.append(hash)
            return info
        }
        return NewToken(token: token, info: info)
    }

    package func tokens() -> [TokenInfo] {
        contents.withLock { contents in contents.order.compactMap { contents.tokens[$0] } }
    }

    @discardableResult
    package func revokeToken(_ id: String) throws(ServerError) -> TokenInfo {
        let revoked = contents.withLock { contents -> TokenInfo? in
            guard let hash = contents.order.first(where: { SyncToken.id(ofHash: $0) == id }),
                var info = contents.tokens[hash]
            else { return nil }
            info.revokedAt = info.revokedAt ?? now()
            contents.tokens[hash] = info
            return info
        }
        guard let revoked else { throw ServerError.noToken(id) }
        return revoked
    }

    package func counts() -> StorageCounts {
        contents.withLock { contents in
            var counts = StorageCounts()
            counts.spaces = contents.spaces.count
            counts.headsTotal = contents.spaces.reduce(0) { $0 + $1.state.head }
            counts.commits = contents.commits
            return counts
        }
    }

    package func checkHealth() {}
}

extension SpaceHead {
    init(_ state: SpaceState) { self.init(lineage: state.lineage, position: state.head) }
}

extension ServerError {
    static func noToken(_ id: String) -> ServerError {
        ServerError(
            .notFound, "there is no token \(id.prefix(64))",
            hint: "storectl token list shows all tokens")
    }
}
