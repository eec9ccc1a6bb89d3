internal import TapedeckModel

/// Looks after the tokens of a server's directory, also while the server runs.
public final class TokenStorage: Sendable {
    /// What is known of a token.
    public struct Token: Sendable {
        /// By which it is revoked.
        public let id: String
        /// What it is for.
        public let name: String
        /// The space that it opens.
        public let space: String
        /// When it was made, in Unix milliseconds.
        public let createdAt: UInt64
        /// When it was revoked, in Unix milliseconds.
        public let revokedAt: UInt64?
    }

    private let storage: LMDBStorage

    /// Opens a server's directory.
    ///
    /// Throws `ServerError`: `.notFound` where no server has been, `.newerFormat`, `.damaged`,
    /// `.accessDenied`.
    public init(_ directory: String) throws(ServerError) {
        let place = ServerDirectory(directory)
        guard place.exists else {
            throw ServerError(
                .notFound, "there is no server in \(directory)",
                hint: "storectl serve makes one; --data names another directory")
        }
        storage = try LMDBStorage(place)
    }

    /// Makes a token; the text is never to be had again.
    @available(*, noasync)
    public func create(
        space: String, name: String
    ) throws(ServerError) -> (id: String, token: String) {
        let made = try storage.createTokenBlocking(space: space, name: name)
        return (made.info.id, made.token)
    }

    /// Every token that was made, oldest first.
    @available(*, noasync)
    public func list() throws(ServerError) -> [Token] {
        try storage.tokensBlocking().map {
            Token(
                id: $0.id, name: $0.name, space: $0.spaceName, createdAt: $0.createdAt,
                revokedAt: $0.revokedAt)
        }
    }

    /// Ends a token; throws `.notFound`.
    @available(*, noasync)
    public func revoke(_ id: String) throws(ServerError) {
        try storage.revokeTokenBlocking(id)
    }

    /// Closes the directory's files.
    public func close() { storage.close() }
}
