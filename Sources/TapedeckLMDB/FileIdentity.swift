internal import CLMDB
internal import Foundation

/// Identifies a file by device and inode, because another file may appear at the same path.
package struct FileIdentity: Hashable, Sendable {
    private var device: UInt64 = 0
    private var inode: UInt64 = 0

    /// The identity of the file at a path; nil if there is none.
    package init?(at path: String) {
        guard tapedeck_identify(-1, path, &device, &inode) == 0 else { return nil }
    }

    /// Returns the identity of the file at a path; nil if there is none.
    ///
    /// Throws `LMDBError` with `.accessDenied` without the permission to look up the path.
    static func find(at path: String) throws(LMDBError) -> FileIdentity? {
        var found = FileIdentity()
        let error = tapedeck_identify(-1, path, &found.device, &found.inode)
        guard error != EACCES else { throw LMDBError(error, path: path) }
        return error == 0 ? found : nil
    }

    private init() {}

    /// The identity of an open file.
    init?(of file: Int32) {
        guard tapedeck_identify(file, nil, &device, &inode) == 0 else { return nil }
    }
}
