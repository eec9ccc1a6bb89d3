internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// The contents of a backup or a restored store.
public struct BackupSummary: Codable, Hashable, Sendable {
    /// The number of events.
    public var events: UInt64
    /// The size of the file, in bytes.
    public var bytes: UInt64
}

extension EventLog {
    /// Writes a compact copy of the current log to one file, while the store stays in use.
    ///
    /// The file appears under its name only when it is complete and on disk, and it replaces an
    /// existing file. The backup contains only the log, from which projections are rebuilt.
    ///
    /// The log is verified first, so that a good backup is never replaced by a backup of a damaged
    /// store.
    ///
    /// Throws `LogError`: `.diskFull`, `.accessDenied`, `.notFound` (no such directory),
    /// `.damaged`, `.usage` (a path inside the store), `.busy` (the store is being compacted).
    @available(*, noasync)
    @discardableResult
    public func backup(
        to path: String, progress: LogProgress.Report? = nil
    ) throws(LogError) -> BackupSummary {
        if queue.isClosed { throw LogError.isClosed }
        try directory.checkIsOutside(path)
        settleBuffered()
        try EventLog.checkIntact(
            try verifyForBackup(progress), directory.log,
            hint: "storectl verify lists what is damaged; keep your earlier backups")
        let part = try ReplacedFile(replacing: path)
        let (file, copy) = (part.file, part.path)
        let summary = try LogError.wrapping {
            try environment.copy(to: file, path)
            // A copy of damaged pages would be useless as a backup.
            let report = try PageCheck.run(copy)
            if let first = report.problems.first {
                throw LogError(
                    .damaged,
                    "\(directory.log) is damaged; problem on page \(first.page) of its copy: "
                        + first.what,
                    hint: "run storectl verify for details; restore an earlier backup")
            }
            let events = try EventLog.eventCount(copy)
            var facts = stat()
            guard stat(copy, &facts) == 0 else { throw LogError.system(errno, path) }
            return BackupSummary(events: events, bytes: UInt64(facts.st_size))
        }
        try part.place()
        return summary
    }

    /// The maximum number of times that the log is verified if it is compacted meanwhile.
    static let backupAttemptsMax = 4

    private func verifyForBackup(
        _ progress: LogProgress.Report?
    ) throws(LogError) -> VerifyReport {
        for _ in 1...EventLog.backupAttemptsMax {
            do throws(LogError) {
                return try verify(progress: progress)
            } catch {
                guard error.code == .busy else { throw error }
            }
        }
        throw LogError(
            .busy, "the store is being compacted, so it cannot be verified for a backup",
            hint: "back up the store after the compaction")
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
        let environment = try Environment(
            path: path, options: .init(tablesMax: 8, isReadOnly: true, isShared: false))
        defer { environment.close() }
        let events = try environment.openTable("events", integerKeys: true)
        return try environment.read { UInt64(try $0.count(events)) }
    }

    /// Creates a store from a backup file, in a directory that does not contain a store, and
    /// verifies it completely.
    ///
    /// The restored store continues under a new origin. The original store may have recorded more
    /// events since the backup, and these events would otherwise conflict with the restored store's
    /// events.
    ///
    /// Throws `LogError`: `.storeExists`, `.notFound` (no such file), `.damaged` (the file is not a
    /// complete backup), `.usage` (the file is an export), `.newerFormat`, `.diskFull`,
    /// `.accessDenied`. If an error is thrown, the directory is left unchanged.
    @available(*, noasync)
    @discardableResult
    public static func restore(
        from path: String, into directory: String, progress: LogProgress.Report? = nil
    ) throws(LogError) -> BackupSummary {
        try NewStore.build(
            at: StoreDirectory(directory), "restoring", adopts: false
        ) { part throws(LogError) in
            let file = try InputFile(path)
            try checkIsNoExport(file)
            try copy(file, to: part.log)
            let (store, format) = try detach(part)
            try part.writeMarker(store: store.description, format: format)
            let log = try EventLog(opening: part.path)
            defer { log.close() }
            try checkIntact(
                try log.verify(progress: progress), path, hint: "use another backup")
            return BackupSummary(events: log.head.rawValue, bytes: UInt64(log.usedBytes))
        } finish: { _, summary throws(LogError) in
            guard let summary else {
                throw LogError(
                    .internalError, "a restore used an existing log instead of the backup")
            }
            return summary
        }
    }

    private static func checkIsNoExport(_ file: borrowing InputFile) throws(LogError) {
        let magic = ExportFormat.magic
        guard try file.read(magic.count, at: 0) == magic else { return }
        throw LogError(
            .usage, "\(file.path) is an export, not a backup",
            hint: "create a store with storectl init, then run storectl import"
                + " \(ShellWord.quoted(file.path))")
    }

    private static func copy(
        _ source: consuming InputFile, to log: String
    ) throws(LogError) {
        let target = try ReplacedFile(replacing: log)
        var offset = 0
        while offset < source.byteCount {
            let count = min(1 << 20, source.byteCount - offset)
            guard let bytes = try source.read(count, at: offset) else {
                throw LogError(.damaged, "\(source.path) was truncated while it was being read")
            }
            try target.write(bytes)
            offset += count
        }
        try target.place()
    }

    /// Removes the rows of a restored log that apply only to its original location: the location at
    /// which the store was last opened, and the files of its projections.
    private static func detach(
        _ place: StoreDirectory
    ) throws(LogError) -> (store: OriginID, format: Int) {
        try LogError.wrapping {
            let report = try PageCheck.run(place.log)
            if let first = report.problems.first {
                throw LogError(
                    .damaged, "the backup is damaged; page \(first.page): \(first.what)",
                    hint: "use another backup")
            }
            let environment = try Environment(
                path: place.log, options: .init(tablesMax: 8, isShared: false))
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
}
