package import TapedeckLMDB
public import TapedeckModel

/// An error of the server.
public struct ServerError: CodedError {
    /// The error code.
    public let code: ErrorCode
    /// The error message, including the affected file or position.
    public let message: String
    /// The suggested action.
    public let hint: String?
    /// The underlying error.
    public let cause: (any Error)?
    /// The affected position in a space's log, if known.
    public let position: UInt64?
    /// The affected space, if known.
    package let space: SpaceID?
    /// The space's current lineage, if the code is `.lineageChanged`.
    package let lineage: LineageID?

    /// Creates an error.
    public init(
        _ code: ErrorCode, _ message: String, hint: String? = nil, position: UInt64? = nil,
        cause: (any Error)? = nil
    ) {
        self.init(
            code, message, hint: hint, space: nil, position: position, lineage: nil, cause: cause)
    }

    package init(
        _ code: ErrorCode, _ message: String, hint: String? = nil, space: SpaceID?,
        position: UInt64? = nil, lineage: LineageID? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.cause = cause
        self.position = position
        self.space = space
        self.lineage = lineage
    }

    /// Converts an LMDB error.
    package init(_ error: LMDBError) {
        switch error.kind {
        case .diskFull:
            self.init(
                .diskFull, "the disk that holds \(error.path) is full; nothing was lost",
                hint: "free some space and try again", cause: error)
        case .mapFull:
            self.init(.diskFull, "\(error.path) has reached its maximum size", cause: error)
        case .readOnly:
            self.init(
                .readOnly, "\(error.path) cannot be written: \(error.detail)",
                hint: "make the file writable, or move it", cause: error)
        case .accessDenied:
            self.init(
                .accessDenied, "\(error.path) cannot be opened: \(error.detail)",
                hint: SystemReason.accessHint, cause: error)
        case .damaged:
            self.init(
                .damaged, "\(error.path) is damaged: \(error.detail)", hint: "restore a backup",
                cause: error)
        case .incompatible:
            self.init(
                .damaged, "\(error.path) does not match this version of LMDB: \(error.detail)",
                hint: "it was written by another version of LMDB, or does not belong to a server",
                cause: error)
        case .busy:
            self.init(
                .busy, "\(error.path) is busy: \(error.detail)", hint: "try again", cause: error)
        case .replaced:
            self.init(
                .mustReopen,
                "\(error.path) must be opened again: \(error.detail)",
                hint:
                    "end all processes that use the data, and start the server again; never change"
                    + " its files",
                cause: error)
        case .notFound:
            self.init(
                .notFound, "there is no \(error.path)", hint: "check the directory", cause: error)
        case .unusablePath:
            self.init(
                .usage, "\(error.path) cannot be used: \(error.detail)",
                hint: SystemReason.pathHint, cause: error)
        case .inputOutput:
            self.init(
                .inputOutput, "I/O error on \(error.path): \(error.detail)",
                hint: "check the disk, then start the server again", cause: error)
        case .unexpected:
            self.init(.internalError, "\(error.path): \(error.detail)", cause: error)
        }
    }

    /// Runs `body` and converts its errors to `ServerError`.
    static func wrapping<R: ~Copyable>(_ body: () throws -> R) throws(ServerError) -> R {
        do {
            return try body()
        } catch {
            throw ServerError(wrapping: error)
        }
    }

    init(wrapping error: any Error) {
        switch error {
        case let error as ServerError: self = error
        case let error as LMDBError: self.init(error)
        case let error as any CodedError:
            self.init(error.code, error.message, hint: error.hint, cause: error.cause)
        default: self.init(.internalError, ForeignError.text(error), cause: error)
        }
    }
}

extension ServerError {
    static func lineageChanged(_ lineage: LineageID, _ space: SpaceID) -> ServerError {
        ServerError(
            .lineageChanged, "the server's current lineage is \(lineage)",
            hint: "repeat the handshake",
            space: space, lineage: lineage)
    }

    static func damaged(_ space: SpaceID, at position: UInt64, _ what: String) -> ServerError {
        ServerError(
            .damaged, "the entry at position \(position) of space \(space) is damaged: \(what)",
            hint: "restore a backup; devices will push the missing events again", space: space,
            position: position)
    }

    static func damagedRow(_ table: String, _ space: SpaceID? = nil) -> ServerError {
        ServerError(
            .damaged, "a row of the server's table \(table) is damaged", hint: "restore a backup",
            space: space)
    }

    static func noSpace(_ space: SpaceID) -> ServerError {
        ServerError(.notFound, "there is no space \(space)", space: space)
    }
}
