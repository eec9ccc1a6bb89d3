internal import CLMDB

/// Identifies a file by device and inode, because another file may appear at the same path.
package struct FileIdentity: Hashable, Sendable {
    private var device: UInt64 = 0
    private var inode: UInt64 = 0

    /// The identity of the file at a path; nil if there is none.
    package init?(at path: String) {
        guard tapedeck_identify(-1, path, &device, &inode) == 0 else { return nil }
    }

    /// The identity of an open file.
    init?(of file: Int32) {
        guard tapedeck_identify(file, nil, &device, &inode) == 0 else { return nil }
    }
}
