internal import Foundation
internal import TapedeckLMDB
package import TapedeckModel

/// The content of a `SlotFile`.
package protocol SlotContent: Sendable {
    /// The size of a slot, in bytes.
    static var slotCount: Int { get }
    /// The format of the content.
    static var format: UInt32 { get }
    /// Returns the error for a file that is in use.
    static func isBusy(_ name: String) -> LogError
    /// Returns the error for a file without an intact slot.
    static func isDamaged(_ path: String) -> LogError
    /// Decodes the output of `encode`; fails for anything else.
    init?(decoding body: inout ByteReader)
    /// Encodes the content, which must fit into the part of a slot after the first
    /// `SlotFile.headCount` bytes.
    func encode(into body: inout [UInt8])
}

/// A small file for frequently changing content, such as the progress of a subscription, with the
/// exclusive right to write the file.
///
/// The right is an advisory lock on the file, which the system releases if its holder dies. Once
/// written, content survives the end of the process, but it survives a power failure only after
/// `synchronize()`. Two slots are used in turn, so that an interrupted write leaves the previous
/// content.
///
/// The file can be passed between threads, but its owner, such as a queue or an actor, must prevent
/// overlapping calls.
package final class SlotFile<Content: SlotContent>: @unchecked Sendable {
    package let path: String
    /// The size of a slot's checksum, format and number, which precede its content.
    package static var headCount: Int { 16 }
    /// The number of the current slot; 0 if nothing has been written yet.
    private var number: UInt64 = 0
    /// The lock on the file; nil after `unlock()`.
    private var lock: FileLock?

    /// Opens the file, or creates it if it does not exist, and locks it.
    ///
    /// Throws `.busy` if the file is already locked.
    package init(_ path: String, creating: Bool = true) throws(LogError) {
        self.path = path
        lock = try SlotFile.take(path, creating: creating)
    }

    private static func take(_ path: String, creating: Bool) throws(LogError) -> FileLock {
        let lock: FileLock?
        do throws(LMDBError) {
            lock = try FileLock.take(path, .alone, creates: creating)
        } catch {
            throw LogError(error)
        }
        guard let lock else { throw Content.isBusy(PathParts.name(of: path)) }
        return lock
    }

    /// Releases the lock; later reads and writes throw `.busy` until `relock()`.
    package func unlock() {
        lock?.release()
        lock = nil
    }

    /// Takes the lock again; throws `.busy` if another holder has it, and `.notFound` if the file
    /// was removed.
    package func relock() throws(LogError) {
        lock = try SlotFile.take(path, creating: false)
    }

    private func locked() throws(LogError) -> Int32 {
        guard let lock else { throw Content.isBusy(PathParts.name(of: path)) }
        return lock.file
    }

    // MARK: - Content

    /// Returns the last written content; nil if there is none.
    package func read() throws(LogError) -> Content? {
        guard let (content, number) = try SlotFile.read(locked(), path) else { return nil }
        self.number = number
        return content
    }

    /// Returns the content of a file, whether or not it is locked.
    package static func read(_ path: String) throws(LogError) -> Content? {
        // O_NONBLOCK avoids waiting if the path is a pipe.
        let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { throw LogError.system(errno, path) }
        defer { _ = close(file) }
        return try read(file, path)?.content
    }

    private static func read(
        _ file: Int32, _ path: String
    ) throws(LogError) -> (content: Content, number: UInt64)? {
        let size = Content.slotCount
        var bytes = [UInt8](repeating: 0, count: size * 2)
        let count = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { throw LogError.system(errno, path) }
        // A file that was created but not written is empty, or contains zeros after a power
        // failure.
        if !bytes.contains(where: { $0 != 0 }) { return nil }
        var found: (content: Content, number: UInt64)?
        for start in [0, size] where start < count {
            let end = min(start + size, count)
            let slot = try SlotFile.slot(bytes[start..<end], path)
            if let slot, slot.number > found?.number ?? 0 { found = slot }
        }
        guard let found else { throw Content.isDamaged(path) }
        return found
    }

    /// Decodes a slot; returns nil if it is not intact.
    private static func slot(
        _ bytes: ArraySlice<UInt8>, _ path: String
    ) throws(LogError) -> (content: Content, number: UInt64)? {
        let result = bytes.withUnsafeBytes { bytes -> Result<(Content, UInt64)?, LogError> in
            var reader = ByteReader(bytes)
            guard bytes.count == Content.slotCount,
                let checksum = reader.littleEndian(UInt32.self),
                checksum == crc32c(UnsafeRawBufferPointer(rebasing: bytes[4...])),
                let format = reader.littleEndian(UInt32.self)
            else { return .success(nil) }
            guard format == Content.format else {
                return .failure(
                    LogError(
                        .newerFormat, "\(path) has format \(format)",
                        hint: "upgrade this program"))
            }
            guard let number = reader.number(), let content = Content(decoding: &reader)
            else { return .success(nil) }
            return .success((content, number))
        }
        return try result.get()
    }

    private static func slot(_ content: Content, number: UInt64) -> [UInt8] {
        var body: [UInt8] = []
        body.appendLittleEndian(Content.format)
        body.appendLittleEndian(number)
        content.encode(into: &body)
        let room = Content.slotCount - 4
        precondition(body.count <= room, "the content does not fit into a slot")
        body.append(contentsOf: repeatElement(0, count: room - body.count))
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(body.withUnsafeBytes { crc32c($0) })
        return bytes + body
    }

    /// Writes the content, which then survives the end of the process, but not yet a power failure.
    package func write(_ content: Content) throws(LogError) {
        let file = try locked()
        let next = number + 1
        let bytes = SlotFile.slot(content, number: next)
        let start = Int(next % 2) * bytes.count
        try bytes.withUnsafeBufferPointer { bytes throws(LogError) in
            try DurableFile.write(UnsafeRawBufferPointer(bytes), to: file, at: start, path)
        }
        number = next
    }

    /// Syncs the written content to disk.
    package func synchronize() throws(LogError) {
        guard DraftFile.flush(try locked()) else { throw LogError.system(errno, path) }
    }
}
