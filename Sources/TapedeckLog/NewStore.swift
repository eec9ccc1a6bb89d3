internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// Creates a store completely or not at all, even if it is interrupted.
///
/// The store is built in a temporary folder inside its directory, called the part. Then the files
/// of the part are moved into place: the log first, then the marker (`store.json`), which completes
/// the store. The next process removes the files of an interrupted attempt, so there is always
/// either a complete store or none. Other processes wait in the meantime, because the opening lock
/// is held exclusively from beginning to end.
///
/// The folder as a whole cannot be moved into place, because the directory may already exist,
/// contain other files, be a mount point, or be in a folder without write permission.
final class NewStore {
    private let place: StoreDirectory
    private let part: StoreDirectory
    /// The folders created for the store, outermost first.
    private let made: [String]
    let entry: OpenStores.Entry
    let lock: FileLock
    private var hasPlacedLog = false
    private var hasPlacedMarker = false

    /// Locks the directory; waits for processes that open or create a store there.
    private init(_ place: StoreDirectory, _ verb: String) throws(LogError) {
        var made = try place.create()
        do throws(LogError) {
            let entry = try OpenStores.shared.enter(place.path)
            lock = try place.lockAlone(verb) { () throws(LogError) in made += try place.create() }
            self.entry = entry
        } catch {
            NewStore.remove(made)
            throw error
        }
        self.place = place
        self.made = made
        part = StoreDirectory(place.newPart())
    }

    /// Creates a store, and runs `finish` before other processes can access it.
    ///
    /// - Parameters:
    ///   - verb: The operation, such as "creating", which is reported to waiting processes.
    ///   - adopts: Whether an existing log that has events but no marker becomes the store.
    ///   - fill: Creates a complete store at another location; not called if a log is adopted.
    ///   - finish: Receives the result of `fill`.
    ///
    /// Throws `LogError`: `.storeExists`, `.busy`, and the errors thrown by the steps. If this
    /// method throws, everything is left as it was before.
    static func build<Made, Result>(
        at place: StoreDirectory, _ verb: String, adopts: Bool,
        fill: (StoreDirectory) throws(LogError) -> Made,
        finish: (NewStore, Made?) throws(LogError) -> Result
    ) throws(LogError) -> Result {
        // This check also works without write permission.
        guard try !place.exists else { throw place.isThere }
        let store = try NewStore(place, verb)
        do throws(LogError) {
            return try store.build(adopts: adopts, fill: fill, finish: finish)
        } catch {
            store.undo()
            throw error
        }
    }

    private func build<Made, Result>(
        adopts: Bool, fill: (StoreDirectory) throws(LogError) -> Made,
        finish: (NewStore, Made?) throws(LogError) -> Result
    ) throws(LogError) -> Result {
        // Another process may have created a store first.
        guard try !place.exists else { throw place.isThere }
        try finishErasing()
        // The folders above the store are synced first, so that the durability of recorded events
        // never depends on which process created the store.
        try LogError.wrapping { try Folder.synchronizeAbove(place.path, made: made) }
        let begun = try removeInterrupted(contents())
        var filled: Made?
        if let begun, begun.events > 0 {
            guard adopts else {
                throw LogError(
                    .storeExists, "\(place.log) has events, but \(place.marker) is missing",
                    hint: "run storectl init to make the directory a store again, or move the log "
                        + "away")
            }
            try place.writeMarker(store: begun.store.description, format: begun.format)
            hasPlacedMarker = true
        } else {
            _ = try part.create()
            filled = try fill(part)
            try settle()
        }
        removePart()
        return try finish(self, filled)
    }

    /// Moves the files of the part into place.
    private func settle() throws(LogError) {
        for file in [part.log, part.marker, part.path] { try DurableFile.synchronize(file) }
        // An older program may have created a store without the lock.
        guard try !place.exists else { throw place.isThere }
        // A lock file that is already in this directory belongs to another log.
        unlink(Environment.lockFile(of: place.log))
        hasPlacedLog = true
        try DurableFile.move(part.log, to: place.log)
        hasPlacedMarker = true
        try DurableFile.move(part.marker, to: place.marker)
    }

    // MARK: - Interrupted attempts

    private func finishErasing() throws(LogError) {
        guard try place.isErasing else { return }
        let sole = try SoleUse(of: place, under: lock)
        defer { withExtendedLifetime(sole) {} }
        try place.finishErasing()
    }

    /// Removes what interrupted attempts have left, and returns the contents of the log that
    /// remains.
    ///
    /// If the marker of the existing log is still in a part, the log never became a store. The log
    /// is removed before the part, because a log without a marker and a part is adopted.
    private func removeInterrupted(_ begun: Contents?) throws(LogError) -> Contents? {
        var begun = begun
        for name in try place.names() where StoreDirectory.isPart(name) {
            let earlier = StoreDirectory(place.path + "/" + name)
            if let log = begun, try !StoreDirectory.exists(earlier.log),
                let marker = try? earlier.marked(), marker.store == log.store.description
            {
                unlink(place.log)
                try DurableFile.synchronize(place.path)
                begun = nil
            }
            try? FileManager.default.removeItem(atPath: earlier.path)
        }
        return begun
    }

    /// The contents of a log without a marker.
    private struct Contents {
        let events: UInt64
        let store: OriginID
        let format: Int
    }

    /// Returns the contents of an existing log without a marker; nil if it was not initialized.
    private func contents() throws(LogError) -> Contents? {
        var facts = stat()
        guard lstat(place.log, &facts) == 0 else {
            guard PathParts.isAbsence(errno) else { throw LogError.system(errno, place.log) }
            return nil
        }
        // A link without a target is an error, because the target may be on a file system that is
        // not mounted now.
        guard stat(place.log, &facts) == 0 else { throw LogError.system(errno, place.log) }
        let sole = try SoleUse(of: place, under: lock)
        defer { withExtendedLifetime(sole) {} }
        guard facts.st_size >= NewStore.bytesBeforeFirstCommit else { return nil }
        return try LogError.wrapping {
            let environment = try Environment(
                path: place.log,
                options: .init(tablesMax: 8, isReadOnly: true, isShared: false))
            defer { environment.close() }
            if environment.tableCount == 0, environment.facts().lastTransaction == 0 { return nil }
            let tables: LogTables
            do {
                tables = try LogTables(environment)
            } catch let error as LMDBError where error.kind == .damaged {
                // Older programs created one table at a time, and may have been interrupted in
                // between.
                let events = try environment.openTable("events", integerKeys: true)
                guard try environment.read({ try $0.count(events) }) == 0 else { throw error }
                return nil
            }
            return try environment.read { transaction -> Contents? in
                let events = UInt64(try transaction.count(tables.events))
                guard let store = try StoreIdentity.store(transaction, tables) else {
                    guard events == 0 else {
                        throw LogError(
                            .damaged,
                            "\(self.place.log) has \(events) events, but no store id",
                            hint: "restore a backup into another directory")
                    }
                    return nil
                }
                return Contents(
                    events: events, store: store,
                    format: try StorageFormat.read(transaction, tables))
            }
        }
    }

    /// The size of the first two pages of an LMDB file, which hold no data.
    private static let bytesBeforeFirstCommit = 8_192

    // MARK: - Undoing

    private func undo() {
        if hasPlacedMarker {
            // If the log is new, the store is marked for erasure, which the next process can
            // finish. If the log existed before, it is kept.
            if hasPlacedLog {
                try? DurableFile.move(place.marker, to: place.erasing)
            } else {
                unlink(place.marker)
            }
            // If the creation cannot be undone, the store stays complete.
            if mayExist {
                removePart()
                return lock.release()
            }
        }
        if hasPlacedLog {
            for file in [place.log, Environment.lockFile(of: place.log), place.indexLock] {
                unlink(file)
            }
            try? DurableFile.synchronize(place.path)
            unlink(place.erasing)
        }
        // Remove the part only after the log: if the log cannot be removed, the part still
        // identifies it, so that the next process can finish the store.
        removePart()
        guard !mayExist else { return lock.release() }
        lock.remove()
        try? DurableFile.synchronize(place.path)
        NewStore.remove(made)
    }

    /// Whether there is a store, or the system does not say.
    private var mayExist: Bool { (try? place.exists) != false }

    private func removePart() { try? FileManager.default.removeItem(atPath: part.path) }

    /// Removes created folders that are still empty.
    private static func remove(_ made: [String]) {
        for folder in made.reversed() { rmdir(folder) }
    }
}
