internal import Foundation

/// Operations on folders, whose entries must be synced to disk like file contents.
package enum Folder {
    /// Creates a folder and its missing parents, readable only by their owner; returns the created
    /// folders, topmost first.
    package static func make(_ path: String) throws(LMDBError) -> [String] {
        var made: [String] = []
        try make(path, &made)
        return made
    }

    private static func make(_ path: String, _ made: inout [String]) throws(LMDBError) {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        if mkdir(path, 0o700) == 0 {
            made.append(path)
            return
        }
        switch errno {
        case EEXIST:
            try check(path)
        case ENOENT where PathParts.folder(of: path) != path && !path.isEmpty:
            try make(PathParts.folder(of: path), &made)
            guard mkdir(path, 0o700) == 0 else {
                guard errno == EEXIST else { throw LMDBError(errno, path: path) }
                return try check(path)
            }
            made.append(path)
        default: throw LMDBError(errno, path: path)
        }
    }

    /// Throws unless an existing path is a folder.
    private static func check(_ path: String) throws(LMDBError) {
        var facts = stat()
        guard stat(path, &facts) == 0 else {
            guard PathParts.isAbsence(errno) else { throw LMDBError(errno, path: path) }
            throw LMDBError(
                .unusablePath, number: errno, path: path,
                detail: "\(path) is a symbolic link to a missing target")
        }
        guard facts.st_mode & S_IFMT == S_IFDIR else { throw LMDBError(ENOTDIR, path: path) }
    }

    /// Syncs a folder's entries to disk.
    package static func synchronize(_ path: String) throws(LMDBError) {
        let file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard file >= 0 else { throw LMDBError(errno, path: path) }
        defer { _ = close(file) }
        #if canImport(Darwin)
            // On Darwin, fsync only reaches the drive's cache.
            if fcntl(file, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(file) == 0 else { throw LMDBError(errno, path: path) }
    }

    /// Syncs the entries of all folders above a folder, up to its mount point, so that the folder
    /// itself survives a power failure.
    ///
    /// An error is thrown only if a folder in which this process created an entry cannot be synced.
    /// This process may have no access to the other folders, and the processes that created their
    /// entries have synced them.
    ///
    /// - Parameter made: The folders that this process created.
    package static func synchronizeAbove(
        _ path: String, made: [String] = []
    ) throws(LMDBError) {
        let full = realPath(path)
        var facts = stat()
        guard stat(full, &facts) == 0 else { throw LMDBError(errno, path: path) }
        let device = facts.st_dev
        let parents = Set(made.map { realPath(PathParts.folder(of: $0)) })
        var folder = full
        while folder != "/" {
            folder = PathParts.folder(of: folder)
            guard stat(folder, &facts) == 0, facts.st_dev == device else { return }
            do throws(LMDBError) {
                try synchronize(folder)
            } catch {
                if parents.contains(folder) { throw error }
            }
        }
    }

    private static func realPath(_ path: String) -> String {
        guard let name = realpath(path, nil) else { return path }
        defer { free(name) }
        return String(cString: name)
    }
}
