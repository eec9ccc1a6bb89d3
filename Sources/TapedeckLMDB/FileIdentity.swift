internal import Foundation

/// Identifies a file by device and inode, because another file may appear at the same path.
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    /// The identity of the file at a path; nil if there is none.
    package init?(at path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        self.init(facts)
    }

    /// The identity of an open file.
    init?(of file: Int32) {
        var facts = stat()
        guard fstat(file, &facts) == 0 else { return nil }
        self.init(facts)
    }

    private init(_ facts: stat) {
        (device, inode) = (UInt64(facts.st_dev), UInt64(facts.st_ino))
    }
}
