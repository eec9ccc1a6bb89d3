public import TapedeckModel
package import TapedeckLMDB

/// An error reported by the log.
public struct LogError: CodedError {
    /// The error code, for programs to act on.
    public let code: ErrorCode
    /// A description of the error.
    public let message: String
    /// A suggested remedy.
    public let hint: String?
    /// The underlying error.
    public let cause: (any Error)?
    /// The position in the log, if the error concerns one.
    public let position: LogPosition?

    /// Creates an error.
    public init(
        _ code: ErrorCode, _ message: String, hint: String? = nil, position: LogPosition? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.position = position
        self.cause = cause
    }

    /// Converts an error from the storage layer.
    package init(_ error: LMDBError) {
        switch error.kind {
        case .diskFull:
            self.init(
                .diskFull, "the disk that holds \(error.path) is full; nothing was lost",
                hint: "free some space and try again", cause: error)
        case .mapFull:
            self.init(.tooLarge, "\(error.path) has reached its maximum size", cause: error)
        case .readOnly:
            self.init(
                .readOnly, "\(error.path) cannot be written: \(error.detail)",
                hint: error.number == 0
                    ? "open the store for writing"
                    : "make it writable (permissions, mount), or copy the store elsewhere;"
                        + " storectl log, show, verify, export and backup also work while it is"
                        + " read-only",
                cause: error)
        case .accessDenied:
            self.init(
                .accessDenied, "\(error.path) cannot be opened: \(error.detail)",
                hint: SystemReason.accessHint, cause: error)
        case .damaged:
            self.init(
                .damaged, "\(error.path) is damaged: \(error.detail)",
                hint: "run storectl verify for details; restore a backup", cause: error)
        case .incompatible:
            self.init(
                .damaged, "\(error.path) does not match this version of LMDB: \(error.detail)",
                hint: "it was written by another version of LMDB, or is not a store", cause: error)
        case .busy:
            self.init(
                .busy, "\(error.path) is busy: \(error.detail)", hint: "try again", cause: error)
        case .replaced:
            self.init(
                .mustReopen,
                "\(error.path) must be opened again: \(error.detail)",
                hint: "end all processes that use the store, and open it again; never change"
                    + " its files",
                cause: error)
        case .notFound where (try? PathParts.exists(PathParts.folder(of: error.path))) == false:
            // The folder was moved or deleted; its files are not damaged.
            self.init(
                .notFound, "the directory \(PathParts.folder(of: error.path)) does not exist",
                hint: "check the path", cause: error)
        case .notFound:
            self.init(
                .damaged, "\(error.path) is missing", hint: "restore a backup", cause: error)
        case .unusablePath:
            self.init(
                .usage, "\(error.path) cannot be used: \(error.detail)",
                hint: SystemReason.pathHint, cause: error)
        case .inputOutput:
            self.init(
                .inputOutput, "I/O error on \(error.path): \(error.detail)",
                hint: "check the disk, then open the store again", cause: error)
        case .unexpected:
            self.init(.internalError, "\(error.path): \(error.detail)", cause: error)
        }
    }

    /// Runs `body` and converts its errors to `LogError`.
    package static func wrapping<R: ~Copyable>(_ body: () throws -> R) throws(LogError) -> R {
        do {
            return try body()
        } catch let error as LogError {
            throw error
        } catch let error as LMDBError {
            throw LogError(error)
        } catch let error as any CodedError {
            throw LogError(error.code, error.message, hint: error.hint, cause: error.cause)
        } catch {
            throw LogError(.internalError, ForeignError.text(error), cause: error)
        }
    }

    static func misplaced(_ id: EventID) -> LogError {
        LogError(
            .damaged, "event \(id) is recorded, but cannot be found at its position",
            hint: "storectl verify lists what is damaged; restore a backup")
    }

    package static func damagedRecord(_ position: UInt64, _ what: String) -> LogError {
        LogError(
            .damaged, "the event at position \(position) is damaged: \(what)",
            hint: "storectl verify lists every damaged event; restore a backup",
            position: LogPosition(rawValue: position))
    }
}
