internal import Foundation
internal import TapedeckLog
internal import TapedeckModel

/// A lock on a store over all processes and within each; the system releases it when its holder dies.
final class StoreLock {
    private let descriptor: Int32

    /// One rebuild of a store at a time.
    ///
    /// - Parameter waits: whether one that is under way is waited for; else it throws `.busy`.
    static func rebuild(_ directory: StoreDirectory, waits: Bool) throws -> StoreLock {
        if let lock = try StoreLock(
            directory.path + "/rebuild.lock", LOCK_EX | (waits ? 0 : LOCK_NB))
        {
            return lock
        }
        throw ProjectionError(
            .busy, "another rebuild of this store is under way", hint: "wait for it to end")
    }

    /// Held by everyone who has a scratch file.
    static func scratch(_ directory: StoreDirectory) throws -> StoreLock? {
        try StoreLock(directory.path + "/scratch.lock", LOCK_SH)
    }

    /// Held by whoever removes scratch files, or changes what they are made of; nil where somebody has one
    /// and is not waited for.
    static func allScratch(
        _ directory: StoreDirectory, waits: Bool = false
    ) throws -> StoreLock? {
        try StoreLock(directory.path + "/scratch.lock", LOCK_EX | (waits ? 0 : LOCK_NB))
    }

    /// Held by a decision that was overtaken too often, so that others begin theirs behind it; nil where
    /// another has it.
    static func turn(_ directory: StoreDirectory) throws -> StoreLock? {
        try StoreLock(directory.path + "/turn.lock", LOCK_EX | LOCK_NB)
    }

    /// Whether nobody has a turn.
    static func isNobodysTurn(_ directory: StoreDirectory) throws -> Bool {
        try StoreLock(directory.path + "/turn.lock", LOCK_SH | LOCK_NB) != nil
    }

    /// Nil where somebody else has it.
    private init?(_ path: String, _ operation: Int32) throws {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw ProjectionError(
                .accessDenied, "\(path) cannot be opened: \(DurableFile.systemError())",
                hint: SystemReason.accessHint)
        }
        while flock(file, operation) != 0 {
            if errno == EINTR { continue }
            let isHeld = errno == EWOULDBLOCK
            let what = DurableFile.systemError()
            _ = Foundation.close(file)
            guard isHeld else { throw ProjectionError(.inputOutput, "\(path): \(what)") }
            return nil
        }
        descriptor = file
    }

    // To close is not enough: a program that is being started holds a copy of the descriptor for a moment.
    deinit {
        _ = flock(descriptor, LOCK_UN)
        _ = Foundation.close(descriptor)
    }
}
