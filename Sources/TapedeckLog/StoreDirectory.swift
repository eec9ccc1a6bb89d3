internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// The files of a store.
///
/// - `store.json` marks the directory as a store and contains its format. If `store.json` exists
///   but the log file is missing or empty, the store is damaged, not new.
/// - `log.mdb` is the log environment, from which projections can be rebuilt.
/// - `views-*.mdb` hold projections.
/// - `subscriptions` is a folder with a file for the progress of each subscription.
/// - `held` is a folder with a file for each event that is held back briefly, such as a player's
///   last report.
/// - `logins` and `blobs` are folders of the sync modules: `logins` contains credentials for
///   remotes, and `blobs` contains media.
///
/// None of these folders is part of a backup or an export.
package struct StoreDirectory: Sendable {
    package let path: String

    /// The newest storage format that this program reads and writes, which supports compacted
    /// stores.
    ///
    /// Formats 1 and 2 are specified in `schema/storage/v1.md`.
    package static let format = 2
    /// The storage format of a store that was never compacted.
    package static let firstFormat = 1

    package init(_ path: String) {
        var path = path
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
    }

    package var marker: String { path + "/store.json" }
    package var log: String { path + "/log.mdb" }
    /// The folder with a file for the progress of each subscription.
    var subscriptions: String { path + "/subscriptions" }
    /// The folder with a file for each event that is not in the log yet.
    var held: String { path + "/held" }
    /// The lock for merging the index; see `lockIndex`.
    var indexLock: String { path + "/index.lock" }
    /// The lock for opening the log; see `lockForOpening`.
    var openingLock: String { path + "/open.lock" }
    /// The marker of a store that is being erased.
    var erasing: String { path + "/store.erasing" }

    /// Returns an unused name for a folder in which to build a store.
    func newPart() -> String { DraftFile.unusedPath(for: path + "/store") }

    /// Returns whether a name is that of a folder in which a store was being built.
    static func isPart(_ name: String) -> Bool {
        name.wholeMatch(of: /store\.[0-9a-f]{16}\.tapedeck-part/) != nil
    }

    /// Removes the files of processes that were killed while they created or shrank the store.
    ///
    /// The caller holds the opening lock, which such a process holds exclusively, so none of these
    /// files has a living writer. A file that cannot be removed only takes up space.
    func removeLeftovers() {
        for name in (try? names()) ?? [] {
            if StoreDirectory.isPart(name) {
                try? FileManager.default.removeItem(atPath: path + "/" + name)
            } else if let target = DraftFile.targetName(ofDraft: name),
                [log, marker].contains(path + "/" + target)
            {
                DraftFile.removeAbandoned(of: path + "/" + target)
            }
        }
    }

    /// Returns the names of the entries in the directory.
    package func names() throws(LogError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            // The directory may exist again by now.
            var isMissing = (error as? CocoaError)?.code == .fileReadNoSuchFile
            if !isMissing { isMissing = try !StoreDirectory.exists(path) }
            if isMissing { throw missing }
            throw LogError(
                .accessDenied, "\(path) cannot be read\(SystemReason.of(error))",
                hint: SystemReason.accessHint, cause: error)
        }
    }

    package func views(_ number: UInt64) -> String { path + "/views-\(number).mdb" }

    /// Returns the number of the views file to which a file name belongs; the name can be that
    /// of the file itself, its lock, or the spilled data of a rebuild.
    package static func viewsNumber(ofFile name: String) -> UInt64? {
        name.wholeMatch(of: projectionFile)?.number.flatMap { UInt64($0) }
    }

    /// Returns the number in the name of each views file, lock and spilled run in the directory.
    func viewsNumbers() throws -> [UInt64] {
        try names().compactMap(StoreDirectory.viewsNumber)
    }

    package struct Marker: Codable {
        var format: Int
        var store: String
    }

    /// Whether the directory contains a store; throws `LogError` if that is unknown.
    package var exists: Bool {
        get throws(LogError) { try StoreDirectory.exists(marker) }
    }
    /// Whether the erasure of a store was started but not completed; throws like `exists`.
    var isErasing: Bool {
        get throws(LogError) { try StoreDirectory.exists(erasing) }
    }

    /// Returns whether a file exists.
    static func exists(_ path: String) throws(LogError) -> Bool {
        do throws(LMDBError) { return try PathParts.exists(path) } catch { throw LogError(error) }
    }

    /// The error for creating a store where a store already exists.
    var isThere: LogError {
        LogError(
            .storeExists, "there is already a store in \(path)",
            hint: "use another directory, or erase the store first with storectl erase --yes")
    }

    /// Reads the marker; throws `.noStore`, `.damaged` if the log is missing or empty, and
    /// `.newerFormat` for a newer format.
    package func readMarker() throws(LogError) -> Marker {
        let read = try marked()
        var facts = stat()
        if lstat(log, &facts) == 0, facts.st_size > 0 { return read }
        try checkLacksLog()
        throw LogError(
            .damaged, "\(log) is missing or empty, but \(marker) exists",
            hint:
                "restore a backup into another directory; erase this one with storectl erase --yes")
    }

    /// Throws unless the directory contains the marker but no log.
    ///
    /// Both files are looked up in one opened directory, because a healthy store that is being
    /// moved away or back must not be reported as damaged.
    private func checkLacksLog() throws(LogError) {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else {
            throw PathParts.isAbsence(errno) ? absence : LogError.system(errno, path)
        }
        defer { _ = close(folder) }
        guard faccessat(folder, PathParts.name(of: marker), F_OK, 0) == 0 else {
            throw PathParts.isAbsence(errno) ? absence : LogError.system(errno, marker)
        }
        var facts = stat()
        if fstatat(folder, PathParts.name(of: log), &facts, AT_SYMLINK_NOFOLLOW) == 0 {
            guard facts.st_size == 0 else { throw hasMoved }
        } else {
            guard PathParts.isAbsence(errno) else { throw LogError.system(errno, log) }
        }
    }

    /// Throws `.noStore` or `.busy` if the directory was moved away, erased or replaced after its
    /// opening lock was taken.
    func checkIsInPlace(_ lock: FileLock?) throws(LogError) {
        guard try exists else { throw absence }
        if let lock, !lock.isInPlace { throw hasMoved }
    }

    private var hasMoved: LogError {
        LogError(
            .busy, "\(path) was moved or replaced while the store was being opened",
            hint: "try again")
    }

    /// The error for a directory without a store.
    private var absence: LogError {
        if (try? isErasing) == true {
            return LogError(
                .noStore, "the erasure of the store in \(path) was interrupted",
                hint: "run storectl erase --yes to finish erasing the store")
        }
        if let part = (try? names())?.first(where: StoreDirectory.isPart) {
            return LogError(
                .noStore,
                "there is no store in \(path): a restore or init was interrupted and left \(part)",
                hint: "run storectl restore FILE or storectl init again; both remove the"
                    + " unfinished files")
        }
        return missing
    }

    private var missing: LogError {
        LogError(
            .noStore, "there is no store in \(path)",
            hint: "create one with storectl init, or name one with --store or TAPEDECK_STORE")
    }

    /// Reads only the marker, so other files may be missing; throws `.noStore`, and `.newerFormat`
    /// for a newer format.
    func marked() throws(LogError) -> Marker {
        guard access(marker, R_OK) == 0 else {
            // A directory that cannot be searched may still contain a store.
            throw PathParts.isAbsence(errno) ? absence : LogError.system(errno, marker)
        }
        guard let data = FileManager.default.contents(atPath: marker) else {
            guard try exists else { throw absence }
            throw LogError(
                .inputOutput, "\(marker) cannot be read", hint: "check that it is a file")
        }
        guard let read = try? JSONDecoder().decode(Marker.self, from: data) else {
            throw LogError(
                .damaged, "\(marker) is not a valid store marker", hint: "restore a backup")
        }
        guard read.format <= StoreDirectory.format else {
            throw LogError(
                .newerFormat,
                "\(path) has storage format \(read.format); this program supports formats up to"
                    + " \(StoreDirectory.format)", hint: "upgrade this program")
        }
        return read
    }

    /// The folders that belong entirely to a store.
    static let ownFolders = ["blobs", "held", "images", "logins", "subscriptions"]

    /// Returns whether a store uses a file of this name, other than the marker.
    static func isOwn(_ name: String) -> Bool {
        let locks = [
            "log.mdb-lock", "index.lock", "open.lock", "rebuild.lock", "scratch.lock", "turn.lock",
        ]
        if name == "log.mdb" || locks.contains(name) { return true }
        if ["log.mdb", "store.json."].contains(where: name.hasPrefix),
            name.contains(DraftFile.suffix)
        {
            return true
        }
        return name.wholeMatch(of: projectionFile) != nil
    }

    /// The names of the files of current and new projections, and of their locks and spilled data.
    private static var projectionFile: Regex<(Substring, number: Substring?)> {
        /(?:views-(?<number>\d+)|scratch-[0-9A-F-]+)\.mdb(?:-lock|\.run\d+|\.entries)?/
    }

    /// Throws if a file would be inside the store, where it could replace the store's own files.
    func checkIsOutside(_ file: String) throws(LogError) {
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent()
        let own = URL(fileURLWithPath: path, isDirectory: true)
        guard
            folder.resolvingSymlinksInPath().standardizedFileURL.path
                != own.resolvingSymlinksInPath().standardizedFileURL.path
        else {
            throw LogError(
                .usage, "\(file) is inside the store", hint: "write the copy somewhere else")
        }
    }

    /// Creates the directory, readable by its owner only; returns the created folders, outermost
    /// first.
    package func create() throws(LogError) -> [String] {
        do throws(LMDBError) {
            return try Folder.make(path)
        } catch {
            let code: ErrorCode =
                switch error.kind {
                case .diskFull: .diskFull
                case .readOnly: .readOnly
                case .unusablePath, .notFound: .usage
                default: .accessDenied
                }
            throw LogError(
                code, "the directory \(path) cannot be created: \(error.detail)",
                hint: "check the path, its symbolic links, and the permissions of its parent"
                    + " directory", cause: error)
        }
    }

    /// Writes the marker, which makes the directory a store; the marker is written completely or
    /// not at all.
    package func writeMarker(store: String, format: Int) throws(LogError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let data = try LogError.wrapping {
            try encoder.encode(Marker(format: format, store: store))
        }
        let file = try ReplacedFile(replacing: marker)
        try file.write(data)
        try file.place()
    }

    /// Returns the mark that distinguishes this store from a copy: the machine and the log file's
    /// inode.
    package func installMark() throws(LogError) -> [UInt8] { try installMark(of: log) }

    /// Returns the mark for a file that is about to replace the log.
    func installMark(of file: String) throws(LogError) -> [UInt8] {
        var facts = stat()
        guard stat(file, &facts) == 0 else {
            throw LogError(.damaged, "\(log) is missing", hint: "restore a backup")
        }
        let machine =
            (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8))
            ?? ProcessInfo.processInfo.hostName
        return Array(machine.utf8.filter { $0 > 0x20 }) + Array("/\(facts.st_ino)".utf8)
    }

    /// The id of the current boot; after another boot, unsynced files may have any content.
    package static let bootID: String = {
        #if canImport(Darwin)
            var size = 64
            var buffer = [CChar](repeating: 0, count: size)
            sysctlbyname("kern.bootsessionuuid", &buffer, &size, nil, 0)
            return String(cString: buffer)
        #else
            let read = try? String(
                contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
            return read?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown"
        #endif
    }()
}

/// Writes files durably.
package enum DurableFile {
    /// Creates a folder in an existing folder, unless it exists.
    ///
    /// Throws `LogError`: `.diskFull`, `.readOnly`, `.accessDenied`, `.notFound` (the folder above
    /// does not exist), `.usage` (there is something other than a folder).
    package static func makeFolder(_ path: String) throws(LogError) {
        if mkdir(path, 0o700) == 0 { return try synchronize(PathParts.folder(of: path)) }
        guard errno == EEXIST else { throw LogError.system(errno, path) }
        var facts = stat()
        guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR else {
            throw LogError(
                .usage, "\(path) is not a directory, nor a symbolic link to one",
                hint: "move it away, or create the target of the link")
        }
    }

    /// Syncs a file, or the entries of a directory, to disk.
    package static func synchronize(_ path: String) throws(LogError) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw LogError.system(errno, path) }
        defer { _ = close(file) }
        guard DraftFile.flush(file) else {
            throw LogError(.inputOutput, "\(path) cannot be synced to disk: \(systemError())")
        }
    }

    /// Renames a synced file durably.
    static func move(_ path: String, to target: String) throws(LogError) {
        guard rename(path, target) == 0 else { throw LogError.system(errno, target) }
        try synchronize(PathParts.folder(of: target))
    }

    /// Writes all bytes at an offset of an open file; `path` is for error messages.
    package static func write(
        _ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int, _ path: String
    ) throws(LogError) {
        var written = 0
        while written < bytes.count {
            let count = pwrite(
                file, bytes.baseAddress.map { $0 + written }, bytes.count - written,
                off_t(offset + written))
            if count < 0 {
                if errno == EINTR { continue }
                throw LogError.system(errno, path)
            }
            written += count
        }
    }

    package static func systemError() -> String { String(cString: strerror(errno)) }
}
