internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

extension EventLog {
    /// Deletes a store's files, including its logins and blobs, and its directory if it is then
    /// empty.
    ///
    /// The files of an interrupted `restore` or `create` are deleted too, even if there is no
    /// store. Other files in the directory are kept. The store is removed atomically. If the
    /// deletion of the remaining files is interrupted, the next `erase`, `create` or `restore` in
    /// this directory completes it.
    ///
    /// If a file or folder of the store is a symbolic link, the link is deleted, and its target is
    /// kept, because the target may be used by something else.
    ///
    /// - Returns: The targets of the deleted links, ordered by path.
    ///
    /// Throws `LogError`: `.noStore`, `.busy` (a process has the store open), `.accessDenied`,
    /// `.readOnly`, `.usage` (a path that cannot be used).
    @available(*, noasync)
    @discardableResult
    public static func erase(_ directory: String) throws(LogError) -> [String] {
        let place = StoreDirectory(directory)
        func check() throws(LogError) {
            guard try place.canBeErased else {
                throw LogError(
                    .noStore, "there is no store in \(directory)", hint: place.hintWithoutStore)
            }
        }
        do throws(LogError) {
            try check()
        } catch {
            place.removeLeftoverLock()
            throw error
        }
        let entry = try OpenStores.shared.enter(directory)
        defer { withExtendedLifetime(entry) {} }
        let lock = try place.lockAlone("erasing", retry: check)
        do throws(LogError) {
            try check()
        } catch {
            // If another process erased the store first, this lock is a leftover.
            if error.code == .noStore { place.remove(lock) } else { lock.release() }
            throw error
        }
        let sole = try SoleUse(of: place, under: lock)
        defer { withExtendedLifetime(sole) {} }
        let kept = try place.linkTargets()
        try place.finishErasing()
        place.remove(lock)
        return kept
    }
}

extension StoreDirectory {
    /// Whether the directory contains a store, or what an interrupted `restore`, `create` or `erase`
    /// has left of one; throws `LogError` if that is unknown.
    fileprivate var canBeErased: Bool {
        get throws(LogError) {
            if try exists { return true }
            if try isErasing { return true }
            do throws(LogError) {
                return try names().contains(where: Self.isPart)
            } catch {
                guard error.code == .notFound else { throw error }
                return false
            }
        }
    }

    /// The hint for a directory without a store.
    ///
    /// Folders named like those of a store are not erased without a store, because they may belong
    /// to something else.
    fileprivate var hintWithoutStore: String {
        let left = ((try? names()) ?? []).filter(Self.ownFolders.contains).sorted()
        guard !left.isEmpty else { return "check the path" }
        return "check the path; if a store left \(left.joined(separator: ", ")) there, delete them"
    }

    /// Removes the opening lock of a process that was killed before it created a store, or after it
    /// erased one.
    ///
    /// Does nothing if another process holds the lock.
    fileprivate func removeLeftoverLock() {
        guard let lock = try? FileLock.take(openingLock, .alone, creates: false) else { return }
        // Another process may have created a store in the meantime.
        guard (try? canBeErased) == false else { return lock.release() }
        remove(lock)
    }

    /// Removes the opening lock, which the caller holds exclusively, and the directory if it is
    /// then empty.
    fileprivate func remove(_ lock: FileLock) {
        lock.remove()
        // Everything else is already off the disk, so a failure is not an error.
        if rmdir(path) == 0 { try? DurableFile.synchronize(PathParts.folder(of: path)) }
    }

    /// Returns the existing targets of the store's files and folders that are symbolic links,
    /// ordered by path.
    fileprivate func linkTargets() throws(LogError) -> [String] {
        let own = try names().filter {
            Self.ownFolders.contains($0) || Self.isPart($0) || Self.isOwn($0)
                || path + "/" + $0 == marker
        }
        return own.compactMap { name in
            var facts = stat()
            let file = path + "/" + name
            guard lstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFLNK,
                let target = realpath(file, nil)
            else { return nil }
            defer { free(target) }
            return String(cString: target)
        }.sorted()
    }

    /// Deletes the store's files except the opening lock, or completes an interrupted deletion.
    ///
    /// The caller holds the opening lock exclusively and has sole use of the store.
    func finishErasing() throws(LogError) {
        if try exists { try DurableFile.move(marker, to: erasing) }
        // Delete the log first, because a remaining log would be mistaken for a store that has lost
        // its marker file.
        try remove([log])
        let names = try names()
        for name in names where StoreDirectory.ownFolders.contains(name) || Self.isPart(name) {
            do {
                try FileManager.default.removeItem(atPath: path + "/" + name)
            } catch {
                throw LogError(
                    .accessDenied, "\(path)/\(name) cannot be deleted\(SystemReason.of(error))",
                    hint: "check the ownership of its contents, then erase again", cause: error)
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
