internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

/// The locks of a store beside the log's own; let go of when they are dropped.
enum StoreLock {
    /// One rebuild of a store at a time.
    ///
    /// - Parameter waits: whether one that is under way is waited for; else it throws `.busy`.
    static func rebuild(
        _ directory: StoreDirectory, waits: Bool
    ) throws -> FileLock {
        let path = directory.path + "/rebuild.lock"
        return try ProjectionError.naming {
            if waits { return try FileLock.wait(for: path, .alone) }
            guard let lock = try FileLock.take(path, .alone) else {
                throw ProjectionError(
                    .busy, "another rebuild of this store is under way",
                    hint: "wait for it to end")
            }
            return lock
        }
    }

    /// Held by everyone who has a scratch file.
    static func scratch(_ directory: StoreDirectory) throws -> FileLock {
        try ProjectionError.naming {
            try FileLock.wait(for: directory.path + "/scratch.lock", .shared)
        }
    }

    /// Held by whoever removes scratch files, or changes what they are made of; nil where somebody has one
    /// and is not waited for.
    static func allScratch(
        _ directory: StoreDirectory, waits: Bool = false
    ) throws -> FileLock? {
        let path = directory.path + "/scratch.lock"
        return try ProjectionError.naming {
            waits ? try FileLock.wait(for: path, .alone) : try FileLock.take(path, .alone)
        }
    }

    /// Held by a decision that was overtaken too often, so that others begin theirs behind it; nil where
    /// another has it.
    static func turn(_ directory: StoreDirectory) throws -> FileLock? {
        try ProjectionError.naming {
            try FileLock.take(directory.path + "/turn.lock", .alone)
        }
    }

    /// Whether nobody has a turn.
    static func isNobodysTurn(_ directory: StoreDirectory) throws -> Bool {
        try ProjectionError.naming {
            try FileLock.take(directory.path + "/turn.lock", .shared) != nil
        }
    }
}
