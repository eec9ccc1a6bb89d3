internal import Foundation
internal import Tapedeck

/// The result of one check by `storectl doctor`.
struct Finding {
    enum Level: String {
        case ok, warning, problem
    }

    let check: String
    let level: Level
    let message: String
    let hint: String?

    static func ok(_ check: String, _ message: String) -> Finding {
        Finding(check: check, level: .ok, message: message, hint: nil)
    }

    static func warning(_ check: String, _ message: String, _ hint: String) -> Finding {
        Finding(
            check: check, level: .warning, message: message,
            hint: PrintedCommand.completed(hint))
    }

    static func problem(_ check: String, _ message: String, _ hint: String) -> Finding {
        Finding(
            check: check, level: .problem, message: message,
            hint: PrintedCommand.completed(hint))
    }
}

/// Examines an open store and its directory.
struct Examination {
    let store: TapedeckStore
    let directory: String

    /// The number of events by which the index or a projection may lag without a warning.
    static let behindMax: UInt64 = 131_072
    /// The number of free bytes below which every store gets a warning, whatever its size.
    static let freeBytesMin: UInt64 = 100_000_000
    /// The longest time by which an event may be dated in the future without a warning: one day.
    static let futureMillisecondsMax: UInt64 = 86_400_000
    /// The time after which an unused file from another version causes a warning: 30 days.
    static let unusedMillisecondsMax: UInt64 = 30 * 86_400_000
    /// The maximum number of frozen keys that are listed.
    static let frozenListedMax = 20
    /// The maximum number of unknown kinds of events that are listed.
    static let unknownListedMax = 20

    /// Returns all findings in a fixed order.
    func findings() throws -> [Finding] {
        let files = try StoreFiles(directory)
        let contents = try frozenKeys() + projections() + index() + types() + clock()
        return try contents + viewsFiles(files) + unfinishedFiles(files)
            + unfinishedFilesInFolders() + readers() + diskSpace(files) + permissions(files)
    }

    private func frozenKeys() throws -> [Finding] {
        let frozen = try store.projections.frozenKeys()
        guard !frozen.isEmpty else { return [.ok("frozen keys", "none")] }
        var findings = frozen.prefix(Examination.frozenListedMax).map { key in
            Finding.problem(
                "frozen keys",
                "\(key.key) in \(key.projection) is frozen by event \(key.event) at position"
                    + " \(key.position): \(key.reason)",
                "storectl show \(key.event) shows the event; upgrade the program, then run"
                    + " storectl replay \(key.projection)")
        }
        if frozen.count > findings.count {
            findings.append(
                .problem(
                    "frozen keys", "\(frozen.count - findings.count) more",
                    "storectl replay --json lists all frozen keys"))
        }
        return findings
    }

    private func projections() throws -> [Finding] {
        let late = try store.projections.status().filter { $0.behind > Examination.behindMax }
        guard !late.isEmpty else { return [.ok("projections", "all are up to date or nearly so")] }
        return late.map {
            .warning(
                "projections", "\($0.name) is \(Figures.grouped($0.behind)) events behind",
                "it catches up when next used; storectl replay \($0.name) updates it now")
        }
    }

    private func index() throws -> [Finding] {
        let waiting: UInt64
        do throws(LogError) {
            waiting = try store.log.unindexedCount()
        } catch {
            guard error.code == .damaged else { throw error }
            return [.problem("index", error.message, error.hint ?? "restore a backup")]
        }
        guard waiting > Examination.behindMax else {
            return [.ok("index", "\(Figures.count(waiting, "event")) to index")]
        }
        return [
            .warning(
                "index", "\(Figures.grouped(waiting)) events are not indexed yet",
                "no data is missing, but lookups are slower until the events are indexed")
        ]
    }

    private func types() throws -> [Finding] {
        let unknown = try store.log.schemaCounts().filter { !Examination.isKnown($0) }
        guard !unknown.isEmpty else { return [.ok("event types", "all are known")] }
        let listed = unknown.prefix(Examination.unknownListedMax).map { count in
            let name = "\(Figures.grouped(count.events)) \(count.type)"
            let isNewer = KnownTypes.schemaVersion(of: count.type) != nil
            return isNewer ? "\(name) (version \(count.schemaVersion))" : name
        }
        let left = unknown.count - listed.count
        let events = Figures.count(unknown.reduce(0) { $0 + $1.events }, "event")
        return [
            .warning(
                "event types",
                "\(events) of unknown type or version: \(listed.joined(separator: ", "))"
                    + (left > 0 ? " and \(Figures.count(left, "more kind"))" : ""),
                "they are kept, exported and synced, but missing from lists; upgrade the program to"
                    + " see them")
        ]
    }

    private static func isKnown(_ count: SchemaCount) -> Bool {
        KnownTypes.schemaVersion(of: count.type).map { count.schemaVersion <= $0 } ?? false
    }

    private func clock() throws -> [Finding] {
        let now = EventLog.Options.systemMilliseconds()
        let ahead = try store.log.eventsAhead(of: now + Examination.futureMillisecondsMax)
        guard let last = ahead.last else {
            return [.ok("clock", TimeArgument.text(Int64(clamping: now)))]
        }
        return [
            .warning(
                "clock",
                "\(Figures.count(ahead.count, "event")) dated in the future; the last, at position"
                    + " \(last.position.rawValue), is dated \(TimeArgument.text(last.stamp)); the time"
                    + " is now \(TimeArgument.text(Int64(clamping: now)))",
                "correct the system's clock, or check the value of --at")
        ]
    }

    private func viewsFiles(_ files: StoreFiles) throws -> [Finding] {
        let used = try store.log.viewsNumbers()
        let present = Set(files.views.map(\.number))
        var findings: [Finding] = []
        let missing = used.subtracting(present)
        if !missing.isEmpty {
            findings.append(
                .warning(
                    "views files", "\(Figures.count(missing.count, "projection file")) missing",
                    "they are rebuilt when next used"))
        }
        let unused = files.views.filter { !used.contains($0.number) }
        let left = unused.map(\.file) + files.scratchFiles
        if !left.isEmpty {
            let bytes = left.reduce(0) { $0 + $1.bytes }
            findings.append(
                .warning(
                    "views files",
                    "\(Figures.count(left.count, "file")) left by interrupted work,"
                        + " \(Figures.bytes(bytes))", "storectl replay removes them"))
        }
        if findings.isEmpty {
            findings.append(
                .ok(
                    "views files",
                    "\(Figures.count(files.views.count, "file")), \(Figures.bytes(files.viewsBytes))"
                ))
        }
        return try findings + foreignFiles()
    }

    /// Returns a finding about files that the opening of the store has not removed, because the
    /// store was opened read-only, or because another process is writing them.
    private func unfinishedFiles(_ files: StoreFiles) -> [Finding] {
        let left = files.unfinishedFiles
        guard !left.isEmpty else { return [] }
        return [
            .warning(
                "unfinished files",
                "\(Figures.count(left.count, "file")) of an interrupted creation or compaction",
                "a command that can write to the directory removes them")
        ]
    }

    /// The folders whose unfinished files remain until the next file is written, what writes files
    /// there, and the command that removes those left.
    private static let unfinishedFolders = [
        (BlobStore.directoryName, "additions of media", "the next storectl blob add"),
        (ImageCache.directoryName, "additions of pictures", "the next storectl image keep"),
        (
            ImageCache.directoryName + "/" + BlobStore.directoryName, "additions of pictures",
            "the next storectl image keep"
        ),
        (LoginFiles.directoryName, "logins", "the next storectl login or sync of a remote"),
    ]

    /// Returns findings about the files that killed processes left in the store's folders.
    private func unfinishedFilesInFolders() throws -> [Finding] {
        try Examination.unfinishedFolders.compactMap { folder, work, remover in
            let path = directory + "/" + folder
            guard FileManager.default.fileExists(atPath: path) else { return nil }
            // Another process may be writing other files at the moment.
            let left = try StoreFiles(path).unfinishedFiles.filter {
                ReplacedFile.isAbandoned("\(path)/\($0.name)")
            }
            guard !left.isEmpty else { return nil }
            let bytes = Figures.bytes(left.reduce(0) { $0 + $1.bytes })
            return .warning(
                "unfinished files",
                "\(Figures.count(left.count, "file")) of interrupted \(work) in \(folder), \(bytes)",
                "\(remover) removes them")
        }
    }

    /// Returns findings about files that other versions of this program wrote, or that were built
    /// with other parameters.
    private func foreignFiles() throws -> [Finding] {
        let now = EventLog.Options.systemMilliseconds()
        return try store.projections.viewsFiles().filter { !$0.isOwn }.map { file in
            let message =
                "\(file.name), \(Figures.bytes(file.bytes)), belongs to another version of this"
                + " program or to other parameters; last used"
                + " \(TimeArgument.text(Int64(clamping: file.usedAtMilliseconds)))"
                + (file.isOpen ? ", open now" : "")
            let isOld = now > file.usedAtMilliseconds + Examination.unusedMillisecondsMax
            guard isOld, !file.isOpen else { return .ok("views files", message) }
            return .warning("views files", message, "storectl doctor --prune removes it")
        }
    }

    private func readers() -> [Finding] {
        // Opening the log has already cleared stale readers.
        let cleared = store.log.staleReadersCleared
        guard cleared > 0 else { return [.ok("readers", "none left by dead processes")] }
        return [
            .ok(
                "readers",
                "cleared \(Figures.count(cleared, "reader")) left by dead processes; the log can now"
                    + " reuse the space that they held")
        ]
    }

    private func diskSpace(_ files: StoreFiles) -> [Finding] {
        var facts = statvfs()
        guard statvfs(directory, &facts) == 0 else {
            return [
                .warning("disk space", "the system does not report the free space", "check with df")
            ]
        }
        let free = UInt64(facts.f_bavail) * UInt64(facts.f_frsize)
        let needed = max(Examination.freeBytesMin, files.viewsBytes * 2)
        guard free < needed else { return [.ok("disk space", "\(Figures.bytes(free)) free")] }
        return [
            .warning(
                "disk space",
                "\(Figures.bytes(free)) free; a rebuild may need \(Figures.bytes(needed))",
                "free some space; on a full disk nothing is lost, but nothing can be recorded")
        ]
    }

    private func permissions(_ files: StoreFiles) throws -> [Finding] {
        var findings: [Finding] = []
        if access(directory, R_OK | W_OK | X_OK) != 0 {
            findings.append(
                .problem(
                    "permissions", "this user cannot write to \(directory)",
                    "chown the directory to the user who runs storectl"))
        }
        var facts = stat()
        if stat(directory, &facts) == 0, facts.st_mode & 0o077 != 0 {
            findings.append(
                .warning(
                    "permissions", "users other than the owner may enter \(directory)",
                    "chmod 700 \(ShellWord.quoted(directory))"))
        }
        for file in files.files where file.mode & 0o077 != 0 && file.name.hasSuffix(".mdb") {
            findings.append(
                .warning(
                    "permissions", "users other than the owner may read \(file.name)",
                    "chmod 600 \(ShellWord.quoted("\(directory)/\(file.name)"))"))
        }
        // A readable login is a problem, not just a warning, because a program that can read it can
        // act as the user on the remote.
        let logins = files.files.contains { $0.name == "logins" } ? directory + "/logins" : nil
        for file in try logins.map({ try StoreFiles($0).files }) ?? [] where file.mode & 0o077 != 0
        {
            findings.append(
                .problem(
                    "permissions", "users other than the owner may read logins/\(file.name)",
                    "log in again after chmod 600"
                        + " \(ShellWord.quoted("\(directory)/logins/\(file.name)"))"))
        }
        for file in files.files where file.owner != UInt32(facts.st_uid) {
            findings.append(
                .warning(
                    "permissions", "\(file.name) and the directory have different owners",
                    "chown the file, because storectl cannot write to files owned by another user"))
        }
        return findings.isEmpty ? [.ok("permissions", "only the owner has access")] : findings
    }
}
