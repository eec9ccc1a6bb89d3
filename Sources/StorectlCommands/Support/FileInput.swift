internal import Foundation
internal import TapedeckModel

/// A file given by the user, or stdin if its name is `-`.
final class FileInput {
    /// The file name given by the user.
    let name: String
    private let descriptor: Int32
    private let isOwned: Bool

    static let chunkBytes = 1 << 16

    /// Opens the file.
    ///
    /// - Throws: `CommandError` with `.notFound`, `.accessDenied` or `.inputOutput`, or with
    ///   `.usage` for a directory.
    init(_ name: String) throws {
        self.name = name
        if name == "-" {
            descriptor = STDIN_FILENO
            isOwned = false
            return
        }
        descriptor = open(name, O_RDONLY | O_CLOEXEC)
        isOwned = true
        guard descriptor >= 0 else { throw FileInput.error(errno, name) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT != S_IFDIR else {
            throw CommandError(.usage, "\(name) is a directory", hint: "name a file")
        }
    }

    deinit {
        if isOwned, descriptor >= 0 { _ = close(descriptor) }
    }

    /// The size of the file; nil if it is not a regular file.
    var byteCount: UInt64? {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        return UInt64(facts.st_size)
    }

    /// Reads the next bytes and returns their number; 0 at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            let count = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            if errno != EINTR { throw FileInput.error(errno, name) }
            if Interruption.isRequested {
                throw Interrupted(message: "\(name) was not read to the end")
            }
        }
    }

    /// Reads the rest of the file, but stops after reading more than `bytesMax` bytes.
    func readAll(bytesMax: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        if let byteCount { bytes.reserveCapacity(min(Int(clamping: byteCount), bytesMax) + 1) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: FileInput.chunkBytes, alignment: 16)
        defer { buffer.deallocate() }
        while bytes.count <= bytesMax {
            let count = try read(into: buffer)
            guard count > 0 else { break }
            bytes.append(contentsOf: buffer[..<count])
        }
        return bytes
    }

    private static func error(_ number: Int32, _ name: String) -> CommandError {
        let text = String(cString: strerror(number))
        switch number {
        case ENOENT, ENOTDIR:
            return CommandError(.notFound, "there is no file \(name)", hint: "check the path")
        case EACCES, EPERM:
            return CommandError(
                .accessDenied, "\(name) cannot be read: \(text)",
                hint: SystemReason.accessHint)
        case ELOOP, ENAMETOOLONG:
            return CommandError(
                .usage, "\(name) cannot be read: \(text)", hint: SystemReason.pathHint)
        default:
            return CommandError(
                .inputOutput, "\(name) cannot be read: \(text)", hint: "check the disk")
        }
    }
}
