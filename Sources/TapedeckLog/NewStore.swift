internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// Makes a store, whole or not at all, whatever ends it meanwhile.
///
/// It is built in a folder of its own inside the store's, its part. Then its files take their places: the log first, then
/// the marker, which makes a store of them. Whoever comes next finishes or removes what was cut off, so at every moment
/// there is no store or a whole one. Others wait meanwhile: the opening lock is held alone from the beginning to the end.
///
/// The folder itself could not be put in its place as a whole: it may be there already, hold other files, be where a
/// file system is mounted, or be in a folder that may not be written.
final class NewStore {
    private let place: StoreDirectory
    private let part: StoreDirectory
    /// The folders that were made for it, the topmost first.
    private let made: [String]
    let entry: OpenStores.Entry
    let lock: FileLock
    private var hasPlacedLog = false
    private var hasPlacedMarker = false

    /// Takes the place, which waits for whoever opens or makes a store there.
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

    /// Makes a store, and does what comes next before anybody else gets at it.
    ///
    /// - Parameters:
    ///   - verb: what is done, for those who wait: "creating".
    ///   - adopts: whether a log that holds events, but has lost its marker, becomes the store.
    ///   - fill: makes a whole store in another place, and closes it; not called where one is adopted.
    ///   - finish: gets what `fill` gave.
    ///
    /// Throws `LogError`: `.storeExists`, `.busy`, and what the steps throw. Then everything is as it was.
    static func build<Made, Result>(
        at place: StoreDirectory, _ verb: String, adopts: Bool,
        fill: (StoreDirectory) throws(LogError) -> Made,
        finish: (NewStore, Made?) throws(LogError) -> Result
    ) throws(LogError) -> Result {
        // Also where nothing may be written.
        guard !place.exists else { throw place.isThere }
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
        // Somebody else may have been quicker.
        guard !place.exists else { throw place.isThere }
        try finishErasing()
        // First, so that what is recorded in a store never depends on who has made it.
        try LogError.wrapping { try Folder.synchronizeAbove(place.path, made: made) }
        let begun = try contents()
        try finishEarlier(begun)
        guard !place.exists else { throw place.isThere }
        var filled: Made?
        if let begun, begun.events > 0 {
            guard adopts else {
                throw LogError(
                    .storeExists, "\(place.log) holds events, but \(place.marker) is missing",
                    hint: "storectl init makes it a store again; or move it away")
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

    /// Puts the files of the part in their places.
    private func settle() throws(LogError) {
        for file in [part.log, part.marker, part.path] { try DurableFile.synchronize(file) }
        // A program of before has made one without the lock.
        guard !place.exists else { throw place.isThere }
        // It says what was written to another log.
        unlink(place.log + "-lock")
        hasPlacedLog = true
        try ReplacedFile.move(part.log, to: place.log)
        hasPlacedMarker = true
        try ReplacedFile.move(part.marker, to: place.marker)
    }

    // MARK: - What was cut off

    private func finishErasing() throws(LogError) {
        guard place.isErasing else { return }
        let sole = try SoleUse(of: place, under: lock)
        defer { withExtendedLifetime(sole) {} }
        try place.finishErasing()
    }

    /// Puts the marker in its place that belongs to the log which is there, and removes all other parts.
    private func finishEarlier(_ begun: Contents?) throws(LogError) {
        for name in try place.names() where StoreDirectory.isPart(name) {
            let earlier = StoreDirectory(place.path + "/" + name)
            if let begun, access(earlier.log, F_OK) != 0,
                let marker = try? earlier.marked(), marker.store == begun.store.description
            {
                try ReplacedFile.move(earlier.marker, to: place.marker)
            }
            try? FileManager.default.removeItem(atPath: earlier.path)
        }
    }

    /// What a log without a marker holds.
    private struct Contents {
        let events: UInt64
        let store: OriginID
        let format: Int
    }

    /// What the log holds that is there without a marker; nil where nothing was begun.
    private func contents() throws(LogError) -> Contents? {
        var facts = stat()
        guard lstat(place.log, &facts) == 0 else {
            guard errno == ENOENT else { throw LogError.system(errno, place.log) }
            return nil
        }
        // A link may lead to where nothing is mounted now.
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
                // Programs of before made one table after the other, and were cut off between.
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
                            "\(self.place.log) has \(events) events, but does not say which store it is",
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

    /// A file of LMDB holds nothing in its first two pages.
    private static let bytesBeforeFirstCommit = 8_192

    // MARK: - Taking back

    private func undo() {
        if hasPlacedMarker {
            // One that was made is erased, which whoever comes next would finish; one that was taken over keeps its log.
            if hasPlacedLog {
                try? ReplacedFile.move(place.marker, to: place.erasing)
            } else {
                unlink(place.marker)
            }
            // A store that cannot be taken back stays whole.
            if place.exists {
                removePart()
                return lock.release()
            }
        }
        if hasPlacedLog {
            for file in [place.log, place.log + "-lock", place.indexLock] { unlink(file) }
            try? DurableFile.synchronize(place.path)
            unlink(place.erasing)
        }
        // Behind the log: with its part a log that is left is finished, without it nobody would know what it is.
        removePart()
        guard !place.exists else { return lock.release() }
        lock.remove()
        try? DurableFile.synchronize(place.path)
        NewStore.remove(made)
    }

    private func removePart() { try? FileManager.default.removeItem(atPath: part.path) }

    /// Removes folders that were made, but for those that hold something by now.
    private static func remove(_ made: [String]) {
        for folder in made.reversed() { rmdir(folder) }
    }
}
