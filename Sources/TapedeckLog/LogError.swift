public import TapedeckModel
package import TapedeckLMDB

/// What the log could not do, and where.
public struct LogError: CodedError {
    /// What went wrong, for programs.
    public let code: ErrorCode
    /// What went wrong and where.
    public let message: String
    /// What to do about it.
    public let hint: String?
    /// The error below this one.
    public let cause: (any Error)?
    /// The place in the log concerned, where there is one.
    public let position: LogPosition?

    /// Makes an error.
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

    /// What an error of the room below means to callers of this one.
    package init(_ error: LMDBError) {
        switch error.kind {
        case .diskFull:
            self.init(
                .diskFull, "the disk that holds \(error.path) is full; nothing was lost",
                hint: "make room and try again", cause: error)
        case .mapFull:
            self.init(.tooLarge, "\(error.path) has reached its largest size", cause: error)
        case .readOnly:
            self.init(
                .readOnly, "\(error.path) cannot be written: \(error.detail)",
                hint: error.number == 0
                    ? "open the store for writing"
                    : "make it writable (permissions, mount), or copy the store to where it is; storectl"
                        + " log, show, verify, export and backup read it as it is", cause: error)
        case .accessDenied:
            self.init(
                .accessDenied, "\(error.path) cannot be opened: \(error.detail)",
                hint: SystemReason.accessHint, cause: error)
        case .damaged:
            self.init(
                .damaged, "\(error.path) is damaged: \(error.detail)",
                hint: "storectl verify says where; restore a backup", cause: error)
        case .incompatible:
            self.init(
                .damaged, "\(error.path) is not a file of this LMDB: \(error.detail)",
                hint: "it was written by another version, or is no store", cause: error)
        case .busy:
            self.init(
                .busy, "\(error.path) is busy: \(error.detail)", hint: "try again", cause: error)
        case .notFound:
            self.init(
                .damaged, "\(error.path) is missing", hint: "restore a backup", cause: error)
        case .inputOutput:
            self.init(
                .inputOutput, "input or output failed on \(error.path): \(error.detail)",
                hint: "check the disk, then open the store again", cause: error)
        case .unexpected:
            self.init(.internalError, "\(error.path): \(error.detail)", cause: error)
        }
    }

    /// Runs `body` and gives what it throws this room's name.
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
            .damaged, "event \(id) is recorded, but is not where the log says",
            hint: "storectl verify lists what is damaged; restore a backup")
    }

    package static func damagedRecord(_ position: UInt64, _ what: String) -> LogError {
        LogError(
            .damaged, "the event at position \(position) is damaged: \(what)",
            hint: "storectl verify lists every damaged event; restore a backup",
            position: LogPosition(rawValue: position))
    }
}
