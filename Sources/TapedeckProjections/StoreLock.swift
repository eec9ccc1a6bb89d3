internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

/// The locks of a store, apart from the locks of its log; each is released with its `FileLock`.
enum StoreLock {
    /// Takes the lock that allows only one rebuild of a store at a time.
    ///
    /// - Parameter waits: Whether to wait for a rebuild in progress; if false, the method throws
    ///   `.busy` instead.
    static func rebuild(
        _ directory: StoreDirectory, waits: Bool
    ) throws -> FileLock {
        let path = directory.path + "/rebuild.lock"
        return try ProjectionError.naming {
            if waits { return try FileLock.wait(for: path, .alone) }
            guard let lock = try FileLock.take(path, .alone) else {
                throw ProjectionError(
                    .busy, "another rebuild of this store is in progress",
                    hint: "wait until it has finished")
            }
            return lock
        }
    }

    /// Takes the shared lock that every owner of a scratch file holds.
    static func scratch(_ directory: StoreDirectory) throws -> FileLock {
        try ProjectionError.naming {
            try FileLock.wait(for: directory.path + "/scratch.lock", .shared)
        }
    }

    /// Takes the exclusive lock that is required to remove scratch files or to change the events
    /// from which they are built.
    ///
    /// Returns nil if a scratch file is in use and `waits` is false.
    static func allScratch(
        _ directory: StoreDirectory, waits: Bool = false
    ) throws -> FileLock? {
        let path = directory.path + "/scratch.lock"
        return try ProjectionError.naming {
            waits ? try FileLock.wait(for: path, .alone) : try FileLock.take(path, .alone)
        }
    }

    /// Takes the turn lock for a decision that has had too many conflicts; other decisions wait
    /// until the lock is released.
    ///
    /// Returns nil if the lock is already taken.
    static func turn(_ directory: StoreDirectory) throws -> FileLock? {
        try ProjectionError.naming {
            try FileLock.take(directory.path + "/turn.lock", .alone)
        }
    }

    /// Returns whether the turn lock is free.
    static func isDecisionLockFree(_ directory: StoreDirectory) throws -> Bool {
        try ProjectionError.naming {
            try FileLock.take(directory.path + "/turn.lock", .shared) != nil
        }
    }
}
