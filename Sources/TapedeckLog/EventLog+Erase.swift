internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

extension EventLog {
    /// Deletes the files of a store, its logins and blobs, and its directory if nothing else is in it.
    ///
    /// What else lies in the directory stays. The store is gone from one moment to the next; should the rest be cut off,
    /// the next `erase`, `create` or `restore` there finishes it.
    ///
    /// Throws `LogError`: `.noStore`, `.busy` (some process has the store open), `.accessDenied`,
    /// `.readOnly`.
    @available(*, noasync)
    public static func erase(_ directory: String) throws(LogError) {
        let place = StoreDirectory(directory)
        func check() throws(LogError) {
            guard place.exists || place.isErasing else {
                throw LogError(
                    .noStore, "there is no store in \(directory)", hint: "check the path")
            }
        }
        try check()
        let entry = try OpenStores.shared.enter(directory)
        defer { withExtendedLifetime(entry) {} }
        let lock = try place.lockAlone("erasing", retry: check)
        do throws(LogError) {
            try check()
        } catch {
            // Another one was quicker, and this lock lies where there is nothing to lock.
            lock.remove()
            throw error
        }
        let sole = try SoleUse(of: place, under: lock)
        defer { withExtendedLifetime(sole) {} }
        try place.finishErasing()
        lock.remove()
        // The erasure itself is on disk. Whether the empty directory is gone as well is not worth an error.
        if rmdir(place.path) == 0 { try? DurableFile.synchronize(PathParts.folder(of: place.path)) }
    }
}

extension StoreDirectory {
    /// Deletes the store's files but for the opening lock, also where that was begun and cut off.
    ///
    /// The caller holds that lock alone, and the right to sole use.
    func finishErasing() throws(LogError) {
        if exists { try ReplacedFile.move(marker, to: erasing) }
        // First, so that nothing takes it for a log that has lost its marker.
        try remove([log])
        let names = try names()
        for name in names where StoreDirectory.ownFolders.contains(name) || Self.isPart(name) {
            do {
                try FileManager.default.removeItem(atPath: path + "/" + name)
            } catch {
                throw LogError(
                    .accessDenied, "\(path)/\(name) cannot be deleted\(SystemReason.of(error))",
                    hint: "check who owns what is in it, then erase again", cause: error)
            }
        }
        let files = names.filter { StoreDirectory.isOwn($0) }.map { path + "/" + $0 }
        try remove(files.filter { $0 != openingLock })
        try DurableFile.synchronize(path)
        try remove([erasing])
    }

    private func remove(_ files: [String]) throws(LogError) {
        for file in files {
            guard unlink(file) == 0 || errno == ENOENT else { throw LogError.system(errno, file) }
        }
    }
}
