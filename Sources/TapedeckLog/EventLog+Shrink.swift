internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// The size of a log's file before and after shrinking.
public struct ShrinkSummary: Codable, Hashable, Sendable {
    /// The former size of the file, in bytes.
    public var bytesBefore: UInt64
    /// The new size of the file, in bytes.
    public var bytes: UInt64
}

extension EventLog {
    /// The number of bytes copied per commit to the new file.
    private static let bytesPerShrinkCommitMax = 16 << 20

    /// Rewrites the log of a closed store compactly, with full pages.
    ///
    /// The file does not shrink by itself, because the space of compacted events is reused for new
    /// ones. The new file replaces the old one only when it is complete and on disk, so the disk
    /// needs space for both files. The store keeps its origin.
    ///
    /// Throws `LogError`: `.noStore`, `.busy` (a process has the store open), `.damaged`,
    /// `.diskFull`, `.accessDenied`, `.readOnly`.
    @available(*, noasync)
    @discardableResult
    public static func shrink(_ directory: String) throws(LogError) -> ShrinkSummary {
        let place = StoreDirectory(directory)
        _ = try place.readMarker()
        let entry = try OpenStores.shared.enter(directory)
        let lock = try place.lockAlone("shrinking") { () throws(LogError) in
            _ = try place.readMarker()
        }
        do throws(LogError) {
            _ = try place.readMarker()
        } catch {
            // Another process has erased the store, so its lock file is no longer needed.
            if error.code == .noStore { lock.remove() } else { lock.release() }
            throw error
        }
        defer { lock.release() }
        let sole = try SoleUse(of: place, under: lock)
        defer { withExtendedLifetime((entry, sole)) {} }
        let before = try size(of: place.log)
        let part = try ReplacedFile(replacing: place.log)
        let path = part.path
        try LogError.wrapping { try rewrite(place, path) }
        try part.place()
        // The lock file describes the last write to the old file.
        unlink(Environment.lockFile(of: place.log))
        return ShrinkSummary(bytesBefore: before, bytes: try size(of: place.log))
    }

    private static func rewrite(_ place: StoreDirectory, _ part: String) throws {
        let old = try Environment(
            path: place.log, options: .init(tablesMax: 8, isReadOnly: true, isShared: false))
        defer { old.close() }
        let new = try Environment(
            path: part,
            options: .init(tablesMax: 8, isUnsynced: true, isShared: false, creates: true))
        defer { new.close() }
        let (sources, targets) = (try LogTables(old), try LogTables(new))
        for (source, target) in zip(sources.all, targets.all) {
            try copy(source, of: old, to: target, of: new)
            guard
                try old.read({ try $0.count(source) }) == new.read({ try $0.count(target) })
            else {
                throw LogError(
                    .damaged, "the row count of a table in \(place.log) is wrong",
                    hint: "run storectl verify for details; restore a backup")
            }
        }
        let mark = try place.installMark(of: part)
        try new.write { try StoreIdentity.setPlace(mark, $0, targets) }
        try new.synchronize()
    }

    /// Copies a table from start to end.
    private static func copy(
        _ source: Table, of old: Environment, to target: Table, of new: Environment
    ) throws {
        var next: [UInt8]? = []
        while let start = next {
            next = try old.read { records in
                try new.write { transaction -> [UInt8]? in
                    let from = try records.cursor(source)
                    let into = try transaction.cursor(target)
                    var entry = start.isEmpty ? try from.first() : try from.seek(start)
                    var bytes = 0
                    while let found = entry {
                        if bytes > bytesPerShrinkCommitMax { return Array(found.key) }
                        bytes += found.key.count + found.value.count
                        try into.put(found.key, found.value, isLast: true)
                        entry = try from.next()
                    }
                    return nil
                }
            }
        }
    }

    private static func size(of path: String) throws(LogError) -> UInt64 {
        var facts = stat()
        guard stat(path, &facts) == 0 else { throw LogError.system(errno, path) }
        return UInt64(max(0, facts.st_size))
    }
}
