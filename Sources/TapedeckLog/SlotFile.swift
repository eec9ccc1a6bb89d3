internal import Foundation
internal import TapedeckLMDB
package import TapedeckModel

/// What a `SlotFile` holds.
package protocol SlotContent: Sendable {
    /// Bytes of a slot.
    static var slotCount: Int { get }
    /// The format of what is in it.
    static var format: UInt32 { get }
    /// What to say where somebody else has the file of this name.
    static func isBusy(_ name: String) -> LogError
    /// What to say where no slot of a file that was written to is whole.
    static func isDamaged(_ path: String) -> LogError
    /// Reads what `encode` wrote; nil for anything else.
    init?(decoding body: inout ByteReader)
    /// Writes what there is; it has room in a slot, behind the slot's own `SlotFile.headCount` bytes.
    func encode(into body: inout [UInt8])
}

/// A small file that is written again and again, such as how far a subscription is, and the right to do so.
///
/// The right is an advisory lock on the file, so the system lets go of it when its holder dies. What is
/// written survives the process at once and a power cut after `synchronize()`; two slots in turn, so that
/// a write that is cut off leaves the one before it.
///
/// It may be handed on, but calls must not overlap: its owner, a queue or an actor, sees to that.
package final class SlotFile<Content: SlotContent>: @unchecked Sendable {
    package let path: String
    /// Bytes in front of a slot's content: checksum, format, number.
    package static var headCount: Int { 16 }
    private let file: Int32
    /// Of the slot that counts; 0 where nothing was written yet.
    private var number: UInt64 = 0
    private(set) var isLocked: Bool

    /// Opens the file, which is made where there is none, and locks it.
    ///
    /// Throws `.busy` where somebody has the lock.
    package init(_ path: String, creating: Bool = true) throws(LogError) {
        while true {
            let flags = O_RDWR | O_CLOEXEC | (creating ? O_CREAT : 0)
            let opened = open(path, flags, 0o600)
            guard opened >= 0 else { throw LogError.system(errno, path) }
            do throws(LogError) {
                guard try SlotFile.lock(opened, path) else {
                    throw Content.isBusy(PathParts.name(of: path))
                }
            } catch {
                _ = close(opened)
                throw error
            }
            // Whoever removes a file has its lock, so one that is there now stays.
            guard SlotFile.isAt(path, opened) else {
                _ = close(opened)
                continue
            }
            file = opened
            self.path = path
            isLocked = true
            return
        }
    }

    deinit {
        // A process that is being started has the file for a moment, and would hold the lock with it.
        unlock()
        _ = close(file)
    }

    private static func lock(_ file: Int32, _ path: String) throws(LogError) -> Bool {
        while flock(file, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw LogError.system(errno, path) }
            return false
        }
        return true
    }

    private static func isAt(_ path: String, _ file: Int32) -> Bool {
        var (named, opened) = (stat(), stat())
        return stat(path, &named) == 0 && fstat(file, &opened) == 0
            && named.st_ino == opened.st_ino && named.st_dev == opened.st_dev
    }

    /// Lets others have the lock.
    package func unlock() {
        _ = flock(file, LOCK_UN)
        isLocked = false
    }

    /// Takes the lock again; throws `.busy` where somebody else has it, or the file was removed.
    package func relock() throws(LogError) {
        guard try SlotFile.lock(file, path), SlotFile.isAt(path, file) else {
            throw Content.isBusy(PathParts.name(of: path))
        }
        isLocked = true
    }

    // MARK: - Content

    /// What was written last; nil where nothing was.
    package func read() throws(LogError) -> Content? {
        guard let (content, number) = try SlotFile.read(file, path) else { return nil }
        self.number = number
        return content
    }

    /// What a file holds, whoever has its lock.
    package static func read(_ path: String) throws(LogError) -> Content? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
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
        // A file that was made and not written to is empty, or zeros after a power cut.
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

    /// Reads a slot; nil where it is not whole.
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
            guard let number = reader.littleEndian(UInt64.self),
                let content = Content(decoding: &reader)
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
        precondition(body.count <= room, "what a file is to hold does not fit in its slot")
        body.append(contentsOf: repeatElement(0, count: room - body.count))
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(body.withUnsafeBytes { crc32c($0) })
        return bytes + body
    }

    /// Writes what there is now; the process may die then, the power may not.
    package func write(_ content: Content) throws(LogError) {
        let next = number + 1
        let bytes = SlotFile.slot(content, number: next)
        let start = Int(next % 2) * bytes.count
        try bytes.withUnsafeBufferPointer { bytes throws(LogError) in
            try DurableFile.write(UnsafeRawBufferPointer(bytes), to: file, at: start, path)
        }
        number = next
    }

    /// Puts what was written on disk.
    package func synchronize() throws(LogError) {
        guard DurableFile.flush(file) else { throw LogError.system(errno, path) }
    }
}
