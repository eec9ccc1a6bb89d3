internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// What a backup holds, and what a restore brought back.
public struct BackupSummary: Codable, Hashable, Sendable {
    /// How many events.
    public var events: UInt64
    /// How long the file is.
    public var bytes: UInt64
}

extension EventLog {
    /// Writes a compact copy of the log as of now to one file, while the store stays in use.
    ///
    /// The file appears under its name whole and on disk, or not at all; what stood there is replaced.
    /// It holds the log alone: projections are made from it again.
    ///
    /// The log is verified first, so that no good backup is replaced by one of a damaged store.
    ///
    /// Throws `LogError`: `.diskFull`, `.accessDenied`, `.notFound` (no such directory), `.damaged`,
    /// `.usage` (a place inside the store).
    @available(*, noasync)
    @discardableResult
    public func backup(
        to path: String, progress: LogProgress.Report? = nil
    ) throws(LogError) -> BackupSummary {
        if queue.isClosed { throw LogError.isClosed }
        try directory.checkIsOutside(path)
        settleBuffered()
        try EventLog.checkIntact(
            try verify(progress: progress), directory.log,
            hint: "storectl verify lists what is damaged; keep your earlier backups")
        let part = ReplacedFile.temporary(path)
        defer { unlink(part) }
        return try LogError.wrapping {
            do {
                try environment.copy(to: part)
            } catch let error as LMDBError where error.kind == .notFound {
                throw LogError.system(ENOENT, path)
            }
            // A copy of damaged pages is no backup.
            let report = try PageCheck.run(part)
            if let first = report.problems.first {
                throw LogError(
                    .damaged,
                    "\(directory.log) is damaged; in its copy, page \(first.page): \(first.what)",
                    hint: "storectl verify says where; restore an earlier backup")
            }
            let events = try EventLog.eventCount(part)
            var facts = stat()
            guard stat(part, &facts) == 0 else { throw LogError.system(errno, path) }
            try DurableFile.synchronize(part)
            try ReplacedFile.move(part, to: path)
            return BackupSummary(events: events, bytes: UInt64(facts.st_size))
        }
    }

    private static func checkIntact(
        _ report: VerifyReport, _ what: String, hint: String
    ) throws(LogError) {
        guard let first = report.problems.first else { return }
        throw LogError(
            .damaged,
            "\(what) is damaged\(first.position.map { " at \(first.kind) \($0)" } ?? ""): \(first.what)",
            hint: hint)
    }

    private static func eventCount(_ path: String) throws -> UInt64 {
        defer { unlink(path + "-lock") }
        let environment = try Environment(
            path: path, options: .init(tablesMax: 8, isReadOnly: true))
        defer { environment.close() }
        let events = try environment.openTable("events", integerKeys: true)
        return try environment.read { UInt64(try $0.count(events)) }
    }

    /// Makes a store of a backup in a directory where there is none, and verifies all of it.
    ///
    /// The restored store goes on as an origin of its own: the store that the backup was taken of may
    /// have recorded more since, and the two would contradict each other.
    ///
    /// Throws `LogError`: `.storeExists`, `.notFound` (no such file), `.damaged` (the file is no whole
    /// backup), `.newerFormat`, `.diskFull`, `.accessDenied`. The directory is then as it was.
    @available(*, noasync)
    @discardableResult
    public static func restore(
        from path: String, into directory: String, progress: LogProgress.Report? = nil
    ) throws(LogError) -> BackupSummary {
        let place = StoreDirectory(directory)
        guard !place.exists, !FileManager.default.fileExists(atPath: place.log) else {
            throw LogError(
                .storeExists, "there is a store in \(directory) already",
                hint: "restore into another directory, or erase that one first")
        }
        let isNew = !FileManager.default.fileExists(atPath: directory)
        do throws(LogError) {
            try copy(InputFile(path), into: place)
            let (store, format) = try detach(place)
            try ReplacedFile.move(place.restoring, to: place.log)
            try place.writeMarker(store: store.description, format: format)
            let log = try EventLog(opening: directory)
            defer { log.close() }
            try checkIntact(
                try log.verify(progress: progress), path, hint: "use another backup")
            return BackupSummary(events: log.head.rawValue, bytes: UInt64(log.usedBytes))
        } catch {
            for file in [place.restoring, place.log] { unlink(file + "-lock") }
            for file in [
                place.restoring, place.log, place.marker, place.indexLock, place.openingLock,
            ] {
                unlink(file)
            }
            if isNew { rmdir(directory) }
            throw error
        }
    }

    private static func copy(
        _ source: consuming InputFile, into place: StoreDirectory
    ) throws(LogError) {
        try place.create()
        unlink(place.restoring)
        var target = try ReplacedFile(replacing: place.restoring)
        var offset = 0
        while offset < source.byteCount {
            let count = min(1 << 20, source.byteCount - offset)
            guard let bytes = try source.read(count, at: offset) else {
                throw LogError(.damaged, "\(source.path) became shorter while it was read")
            }
            try target.write(bytes)
            offset += count
        }
        try target.place()
    }

    /// Takes out of a restored log what was true only of the place that it comes from: where the store
    /// was last opened, and which files held its projections.
    private static func detach(
        _ place: StoreDirectory
    ) throws(LogError) -> (store: OriginID, format: Int) {
        try LogError.wrapping {
            let report = try PageCheck.run(place.restoring)
            if let first = report.problems.first {
                throw LogError(
                    .damaged, "the backup is damaged; page \(first.page): \(first.what)",
                    hint: "use another backup")
            }
            defer { unlink(place.restoring + "-lock") }
            let environment = try Environment(path: place.restoring, options: .init(tablesMax: 8))
            defer { environment.close() }
            let tables = try LogTables(environment)
            return try environment.write { transaction in
                let identity = try StoreIdentity.forgetPlace(transaction, tables)
                for row in try viewsRows(transaction, tables) {
                    try transaction.delete(tables.meta, row.key)
                }
                return identity
            }
        }
    }

    /// Deletes the files of a store, its logins and blobs, and its directory if nothing else is in it.
    ///
    /// What else lies in the directory stays.
    ///
    /// Throws `LogError`: `.noStore`, `.busy` (some process has the store open), `.accessDenied`,
    /// `.readOnly`.
    @available(*, noasync)
    public static func erase(_ directory: String) throws(LogError) {
        let place = StoreDirectory(directory)
        guard place.exists else {
            throw LogError(
                .noStore, "there is no store in \(directory)", hint: "check the path")
        }
        try OpenStores.shared.enter(directory)
        defer { OpenStores.shared.leave(directory) }
        let alone = try SoleUse(of: place)
        defer { withExtendedLifetime(alone) {} }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw LogError(
                .accessDenied,
                "\(directory) cannot be read\(SystemReason.of(error))",
                hint: SystemReason.accessHint, cause: error)
        }
        // The marker goes last: as long as it is there, erasing can be done again.
        let files =
            names.filter { StoreDirectory.isOwn($0) }.sorted().map { directory + "/" + $0 }
            + [place.marker]
        for folder in StoreDirectory.ownFolders where names.contains(folder) {
            do {
                try FileManager.default.removeItem(atPath: directory + "/" + folder)
            } catch {
                throw LogError(
                    .accessDenied,
                    "\(directory)/\(folder) cannot be deleted\(SystemReason.of(error))",
                    hint: "check who owns what is in it", cause: error)
            }
        }
        for file in files {
            guard unlink(file) == 0 || errno == ENOENT else { throw LogError.system(errno, file) }
        }
        try DurableFile.synchronize(directory)
        rmdir(directory)
    }
}
