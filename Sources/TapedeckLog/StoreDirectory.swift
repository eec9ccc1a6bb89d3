internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// The files of one store.
///
/// - `store.json` says that this is a store, in which format. It is written once, so a log file that
///   is missing or empty beside it is damage and not a new store.
/// - `log.mdb` is the log environment. Everything else can be rebuilt from it.
/// - `views-*.mdb` hold projections.
/// - `subscriptions` is a folder with a file for each subscription: how far it is.
/// - `held` is a folder with a file for each event that is held back for a moment, such as a player's last
///   report.
/// - `logins` and `blobs` are folders of the rooms that sync: what remotes want to know of the user, and
///   media.
///
/// These folders are no part of a backup or an export.
package struct StoreDirectory: Sendable {
    package let path: String

    /// The newest storage format that this program writes and reads: of stores that were compacted.
    ///
    /// `schema/storage/v1.md` has both.
    package static let format = 2
    /// That of a store that was never compacted.
    package static let firstFormat = 1

    package init(_ path: String) {
        var path = path
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
    }

    package var marker: String { path + "/store.json" }
    package var log: String { path + "/log.mdb" }
    /// How far each subscription is, a file each.
    var subscriptions: String { path + "/subscriptions" }
    /// Events that are not in the log yet, a file each.
    var held: String { path + "/held" }
    /// Held while the index is merged; see `lockIndex`.
    var indexLock: String { path + "/index.lock" }
    /// Held while the log is opened; see `lockForOpening`.
    var openingLock: String { path + "/open.lock" }
    /// The marker of a store that is being erased.
    var erasing: String { path + "/store.erasing" }

    /// A folder for the files of a store that is being made; nobody has it.
    func newPart() -> String { ReplacedFile.temporary(path + "/store") }

    /// Whether a folder of this name is such a one.
    static func isPart(_ name: String) -> Bool {
        name.wholeMatch(of: /store\.[0-9a-f]{16}\.tapedeck-part/) != nil
    }

    /// The names in the directory.
    func names() throws(LogError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw LogError(
                .accessDenied, "\(path) cannot be read\(SystemReason.of(error))",
                hint: SystemReason.accessHint, cause: error)
        }
    }

    package func views(_ number: UInt64) -> String { path + "/views-\(number).mdb" }

    /// The number of the views file to which a name in the directory belongs: the file itself, its lock, or
    /// what a rebuild has spilled.
    package static func viewsNumber(ofFile name: String) -> UInt64? {
        name.wholeMatch(of: /views-(\d+)\.mdb(-lock|\.run\d+)?/).flatMap { UInt64($0.1) }
    }

    /// The numbers of the views files of which anything is there.
    func viewsNumbers() throws -> [UInt64] {
        try FileManager.default.contentsOfDirectory(atPath: path)
            .compactMap(StoreDirectory.viewsNumber)
    }

    package struct Marker: Codable {
        var format: Int
        var store: String
    }

    package var exists: Bool { FileManager.default.fileExists(atPath: marker) }
    /// Whether the erasure of a store was begun and cut off.
    var isErasing: Bool { FileManager.default.fileExists(atPath: erasing) }

    /// Refuses to make a store where there is one.
    var isThere: LogError {
        LogError(
            .storeExists, "there is a store in \(path) already",
            hint: "use it or another directory, or erase it first with storectl erase --yes")
    }

    /// Reads the marker; refuses a newer format by name.
    package func readMarker() throws(LogError) -> Marker {
        guard access(marker, F_OK) == 0 else {
            // A directory that cannot be looked into may hold a store.
            guard [ENOENT, ENOTDIR].contains(errno) else { throw LogError.system(errno, marker) }
            guard !isErasing else {
                throw LogError(
                    .noStore, "the store in \(path) was erased, but not to the end",
                    hint: "storectl erase --yes finishes it")
            }
            throw LogError(
                .noStore, "there is no store in \(path)", hint: "make one with storectl init")
        }
        let read = try marked()
        guard let size = (try? FileManager.default.attributesOfItem(atPath: log))?[.size] as? Int,
            size > 0
        else {
            throw LogError(
                .damaged, "\(log) is missing or empty, but \(marker) says that there was a log",
                hint:
                    "restore a backup into another directory; storectl erase --yes removes the rest"
            )
        }
        return read
    }

    /// What the marker says, whatever else is there; refuses a newer format by name.
    func marked() throws(LogError) -> Marker {
        guard access(marker, R_OK) == 0 else { throw LogError.system(errno, marker) }
        guard let data = FileManager.default.contents(atPath: marker) else {
            throw LogError(
                .inputOutput, "\(marker) cannot be read", hint: "check that it is a file")
        }
        guard let read = try? JSONDecoder().decode(Marker.self, from: data) else {
            throw LogError(
                .damaged, "\(marker) is not what a store writes there", hint: "restore a backup")
        }
        guard read.format <= StoreDirectory.format else {
            throw LogError(
                .newerFormat,
                "\(path) has storage format \(read.format); this program knows up to format"
                    + " \(StoreDirectory.format)", hint: "upgrade this program")
        }
        return read
    }

    /// The folders that belong to a store with all that is in them.
    static let ownFolders = ["blobs", "held", "images", "logins", "subscriptions"]

    /// Whether a file of this name is one that a store makes, other than the marker.
    static func isOwn(_ name: String) -> Bool {
        let locks = [
            "log.mdb-lock", "index.lock", "open.lock", "rebuild.lock", "scratch.lock", "turn.lock",
        ]
        if name == "log.mdb" || locks.contains(name) { return true }
        if ["log.mdb", "store.json."].contains(where: name.hasPrefix),
            name.contains(ReplacedFile.temporarySuffix)
        {
            return true
        }
        // Projections that serve or that are being built, their locks, and what was spilled.
        return name.wholeMatch(of: /(views-\d+|scratch-[0-9A-F-]+)\.mdb(-lock|\.run\d+)?/) != nil
    }

    /// Refuses a place inside the store, where a copy could take the place of the store's own files.
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

    /// Makes the directory, readable by its owner only; says which folders were made, the topmost first.
    package func create() throws(LogError) -> [String] {
        do throws(LMDBError) {
            return try Folder.make(path)
        } catch {
            throw LogError(
                error.kind == .diskFull ? .diskFull : .accessDenied,
                "the directory \(path) cannot be made: \(error.detail)",
                hint: "check the path, and who may write above it", cause: error)
        }
    }

    /// Writes the marker, whole or not at all: it makes a store of the directory.
    package func writeMarker(store: String, format: Int) throws(LogError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let data = try LogError.wrapping {
            try encoder.encode(Marker(format: format, store: store))
        }
        var file = try ReplacedFile(replacing: marker)
        try file.write(Array(data))
        try file.place()
    }

    /// What tells this place from a copy of it: the machine, and the log file's inode.
    package func installMark() throws(LogError) -> [UInt8] { try installMark(of: log) }

    /// What `installMark` says once a file has taken the log's place.
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

    /// The name of this boot of the system: after another boot, unsynced files may hold anything.
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

/// What the system needs to be told before a file may be relied on.
package enum DurableFile {
    /// Puts a file, or a directory's list of files, on disk.
    package static func synchronize(_ path: String) throws(LogError) {
        let file = open(path, O_RDONLY)
        guard file >= 0 else {
            throw LogError(
                .accessDenied, "\(path) cannot be opened: \(systemError())",
                hint: SystemReason.accessHint)
        }
        defer { _ = close(file) }
        guard flush(file) else {
            throw LogError(.inputOutput, "\(path) cannot be put on disk: \(systemError())")
        }
    }

    /// Puts an open file on disk; false where the system says no.
    static func flush(_ file: Int32) -> Bool {
        #if canImport(Darwin)
            // There, fsync stops at the drive's cache.
            return fcntl(file, F_FULLFSYNC) == 0 || fsync(file) == 0
        #else
            return fsync(file) == 0
        #endif
    }

    /// Writes all bytes from an offset of an open file on; `path` is for the error.
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
