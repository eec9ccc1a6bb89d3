import Foundation

/// A file system of its own, where the system allows mounting one; tests say so where it does not.
package final class MountedDirectory {
    package let path: String

    /// A disk in memory of so many megabytes; nil where it cannot be mounted.
    package init?(megabytes: Int, at path: String) {
        self.path = path
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard run("mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "tapedeck", path) else {
            print("skipped: a small disk needs the right to mount one")
            return nil
        }
    }

    /// A directory seen through a mount that cannot be written; nil where it cannot be mounted.
    package init?(readOnly directory: String, at path: String) {
        self.path = path
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard run("mount", "--bind", directory, path) else {
            print("skipped: a read-only directory needs the right to mount one")
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
