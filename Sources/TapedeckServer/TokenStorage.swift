internal import TapedeckModel

/// Manages the tokens of a server's directory, even while the server runs.
public final class TokenStorage: Sendable {
    /// The stored information about a token.
    public struct Token: Sendable {
        /// The id to pass to `revoke`.
        public let id: String
        /// The name that describes the token's purpose.
        public let name: String
        /// The name of the space that the token gives access to.
        public let space: String
        /// The creation time, in Unix milliseconds.
        public let createdAt: UInt64
        /// The time of revocation, in Unix milliseconds; nil while the token is valid.
        public let revokedAt: UInt64?
    }

    private let storage: LMDBStorage

    /// Opens the directory of a server.
    ///
    /// Throws `ServerError`: `.notFound` if the directory has never had a server, `.newerFormat`,
    /// `.damaged`, `.accessDenied`.
    public init(_ directory: String) throws(ServerError) {
        let place = ServerDirectory(directory)
        guard try place.exists else {
            throw ServerError(
                .notFound, "there is no server in \(directory)",
                hint: "create one with storectl serve, or use --data for another directory")
        }
        storage = try LMDBStorage(place)
    }

    /// Creates a token, which cannot be retrieved later.
    @available(*, noasync)
    public func create(
        space: String, name: String
    ) throws(ServerError) -> (id: String, token: String) {
        let made = try storage.createTokenBlocking(space: space, name: name)
        return (made.info.id, made.token)
    }

    /// Returns all tokens ever created, oldest first.
    @available(*, noasync)
    public func list() throws(ServerError) -> [Token] {
        try storage.tokensBlocking().map {
            Token(
                id: $0.id, name: $0.name, space: $0.spaceName, createdAt: $0.createdAt,
                revokedAt: $0.revokedAt)
        }
    }

    /// Revokes a token; throws `.notFound` if it does not exist.
    @available(*, noasync)
    public func revoke(_ id: String) throws(ServerError) {
        try storage.revokeTokenBlocking(id)
    }

    /// Closes the server's files.
    public func close() { storage.close() }
}
