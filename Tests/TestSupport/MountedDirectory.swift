import Foundation

/// A file system mounted for a test, if the system allows it; otherwise a message says that the
/// test was skipped.
package final class MountedDirectory {
    package let path: String

    /// Mounts an in-memory file system of the given size; nil if it cannot be mounted.
    package init?(megabytes: Int, at path: String) {
        self.path = path
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard run("mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "tapedeck", path) else {
            print("skipped: the right to mount a small disk is missing")
            return nil
        }
    }

    /// Mounts a directory read-only; nil if it cannot be mounted.
    package init?(readOnly directory: String, at path: String) {
        self.path = path
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard run("mount", "--bind", directory, path) else {
            print("skipped: the right to mount a read-only directory is missing")
            return nil
        }
        guard run("mount", "-o", "remount,bind,ro", path) else {
            run("umount", path)
            return nil
        }
    }

    deinit { run("umount", "-l", path) }
}

@discardableResult
private func run(_ command: String, _ arguments: String...) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [command] + arguments
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
}
