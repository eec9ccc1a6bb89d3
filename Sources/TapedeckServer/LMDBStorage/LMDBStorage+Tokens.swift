internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// # Tokens
///
/// The token of every request is looked up in the file, so that tokens created or revoked by
/// another process take effect immediately. The lookup uses the token's hash. Response times can
/// therefore reveal information only about hashes, and a token cannot be derived from its hash.
extension LMDBStorage {
    package func space(forToken token: String) async throws(ServerError) -> SpaceID? {
        let hash = SyncToken.hash(token)
        return try await readers.run {
            try self.environment.read { transaction in
                guard let row = try self.token(hash, transaction), row.revokedAt == nil else {
                    return nil
                }
                return row.space
            }
        }
    }

    package func createToken(
        space: String, name: String
    ) async throws(ServerError) -> NewToken {
        try await readers.run { try self.createTokenBlocking(space: space, name: name) }
    }

    package func tokens() async throws(ServerError) -> [TokenInfo] {
        try await readers.run { try self.tokensBlocking() }
    }

    @discardableResult
    package func revokeToken(_ id: String) async throws(ServerError) -> TokenInfo {
        try await readers.run { try self.revokeTokenBlocking(id) }
    }

    /// Creates a token, blocking the calling thread.
    @available(*, noasync)
    package func createTokenBlocking(space: String, name: String) throws(ServerError) -> NewToken {
        try SpaceName.check(space, of: "space")
        try SpaceName.check(name, of: "token")
        let token = SyncToken.random()
        let hash = SyncToken.hash(token)
        return try ServerError.wrapping {
            try environment.write { transaction in
                let states = try self.states(transaction)
                let known = states.first { $0.1.name == space }?.0
                let id = try known ?? self.addSpace(named: space, behind: states, transaction)
                let row = TokenRow(space: id, createdAt: self.options.now(), name: name)
                try transaction.seal(self.tables.tokens, hash, row.encoded)
                return NewToken(token: token, info: TokenInfo(hash, row, spaceName: space))
            }
        }
    }

    /// Returns all tokens, blocking the calling thread.
    @available(*, noasync)
    package func tokensBlocking() throws(ServerError) -> [TokenInfo] {
        try ServerError.wrapping {
            try environment.read { try self.tokens($0).map(\.info) }
        }
    }

    /// Revokes a token, blocking the calling thread.
    @available(*, noasync)
    @discardableResult
    package func revokeTokenBlocking(_ id: String) throws(ServerError) -> TokenInfo {
        try ServerError.wrapping {
            try environment.write { transaction in
                guard let found = try self.tokens(transaction).first(where: { $0.info.id == id }),
                    var row = try self.token(found.hash, transaction)
                else { throw ServerError.noToken(id) }
                if row.revokedAt == nil {
                    row.revokedAt = self.options.now()
                    try transaction.seal(self.tables.tokens, found.hash, row.encoded)
                }
                return TokenInfo(found.hash, row, spaceName: found.info.spaceName)
            }
        }
    }

    /// If the directory's token file is missing, creates it with a new token for the space
    /// `default`.
    @available(*, noasync)
    package func settleTokenFile() throws(ServerError) {
        if try ServerDirectory.exists(directory.tokenFile) { return }
        let made = try createTokenBlocking(space: SpaceName.usual, name: "first")
        try directory.writeToken(made.token)
    }

    private func token(
        _ hash: [UInt8], _ transaction: borrowing some Readable & ~Copyable
    ) throws -> TokenRow? {
        guard let bytes = try transaction.sealed(tables.tokens, hash, named: "tokens") else {
            return nil
        }
        guard let row = TokenRow(bytes) else { throw ServerError.damagedRow("tokens") }
        return row
    }

    private func tokens(
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> [(hash: [UInt8], info: TokenInfo)] {
        let names = Dictionary(
            try states(transaction).map { ($0.0, $0.1.name) }, uniquingKeysWith: { $1 })
        var found: [(hash: [UInt8], info: TokenInfo)] = []
        let cursor = try transaction.cursor(tables.tokens)
        var row = try cursor.first()
        while let (key, sealed) = row {
            guard let value = SealedValue.open(sealed, key: key), let token = TokenRow(value) else {
                throw ServerError.damagedRow("tokens")
            }
            let hash = Array(key)
            found.append(
                (hash, TokenInfo(hash, token, spaceName: names[token.space] ?? "")))
            row = try cursor.next()
        }
        return found.sorted { ($0.info.createdAt, $0.info.id) < ($1.info.createdAt, $1.info.id) }
    }

    private func addSpace(
        named name: String, behind states: [(SpaceID, SpaceState)],
        _ transaction: borrowing WriteTransaction
    ) throws -> SpaceID {
        let space = SpaceID(rawValue: (states.last?.0.rawValue ?? 0) + 1)
        let state = SpaceState(name: name, lineage: options.randomLineage())
        try transaction.seal(tables.spaces, RowKey.space(space), state.encoded)
        return space
    }
}

extension TokenInfo {
    fileprivate init(_ hash: [UInt8], _ row: TokenRow, spaceName: String) {
        self.init(
            id: SyncToken.id(ofHash: hash), space: row.space, spaceName: spaceName, name: row.name,
            createdAt: row.createdAt, revokedAt: row.revokedAt)
    }
}
