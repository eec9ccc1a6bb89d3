internal import Foundation
internal import TapedeckModel

/// The file that holds how far a subscription is, and the right to deliver it.
///
/// The right is an advisory lock on the file, so the system lets go of it when its holder dies. What is
/// written survives the process at once and a power cut after `synchronize()`; two slots in turn, so that
/// a write that is cut off leaves the one before it.
final class SubscriptionFile {
    let path: String
    private let file: Int32
    /// Of the slot that counts; 0 where nothing was written yet.
    private var number: UInt64 = 0
    private(set) var isLocked: Bool

    /// Opens a subscription's file, which is made where there is none, and locks it.
    ///
    /// Throws `.busy` where somebody has the lock.
    init(_ path: String, creating: Bool = true) throws(LogError) {
        while true {
            let flags = O_RDWR | O_CLOEXEC | (creating ? O_CREAT : 0)
            let opened = open(path, flags, 0o600)
            guard opened >= 0 else { throw LogError.system(errno, path) }
            do throws(LogError) {
                guard try SubscriptionFile.lock(opened, path) else {
                    throw SubscriptionFile.isBusy(path)
                }
            } catch {
                _ = close(opened)
                throw error
            }
            // Whoever removes a subscription has the lock, so a file that is there now stays.
            guard SubscriptionFile.isAt(path, opened) else {
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

    private static func isBusy(_ path: String) -> LogError {
        LogError(
            .busy, "somebody is subscribed as \((path as NSString).lastPathComponent) already",
            hint: "let it end, or use another name")
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
    func unlock() {
        _ = flock(file, LOCK_UN)
        isLocked = false
    }

    /// Takes the lock again; throws `.busy` where somebody else has it, or the file was removed.
    func relock() throws(LogError) {
        guard try SubscriptionFile.lock(file, path), SubscriptionFile.isAt(path, file) else {
            throw SubscriptionFile.isBusy(path)
        }
        isLocked = true
    }

    // MARK: - Content

    /// What was written last; nil where nothing was.
    func read() throws(LogError) -> SubscriptionMarks? {
        guard let (marks, number) = try SubscriptionFile.read(file, path) else { return nil }
        self.number = number
        return marks
    }

    /// What a subscription's file holds, whoever has its lock.
    static func read(_ path: String) throws(LogError) -> SubscriptionMarks? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw LogError.system(errno, path) }
        defer { _ = close(file) }
        return try read(file, path)?.marks
    }

    private static func read(
        _ file: Int32, _ path: String
    ) throws(LogError) -> (marks: SubscriptionMarks, number: UInt64)? {
        let size = SubscriptionMarks.slotCount
        var bytes = [UInt8](repeating: 0, count: size * 2)
        let count = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { throw LogError.system(errno, path) }
        // A file that was made and not written to is empty, or zeros after a power cut.
        if !bytes.contains(where: { $0 != 0 }) { return nil }
        var found: (marks: SubscriptionMarks, number: UInt64)?
        for start in [0, size] where start < count {
            let slot = bytes.withUnsafeBytes {
                SubscriptionMarks.read(
                    UnsafeRawBufferPointer(rebasing: $0[start..<min(start + size, count)]))
            }
            switch slot {
            case .whole(let marks, let number):
                if number > found?.number ?? 0 { found = (marks, number) }
            case .newerFormat(let format):
                throw LogError(
                    .newerFormat, "\(path) has format \(format)", hint: "upgrade this program")
            case .damaged: continue
            }
        }
        guard let found else {
            throw LogError(
                .damaged, "\(path) is damaged: it does not say how far its subscription is",
                hint: "remove the subscription; it then begins anew")
        }
        return found
    }

    /// Writes how far the subscription is; the process may die then, the power may not.
    func write(_ marks: SubscriptionMarks) throws(LogError) {
        let next = number + 1
        let bytes = marks.slot(number: next)
        let start = off_t(Int(next % 2) * bytes.count)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                pwrite(
                    file, bytes.baseAddress.map { $0 + written }, bytes.count - written,
                    start + off_t(written))
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw LogError.system(errno, path)
            }
            written += count
        }
        number = next
    }

    /// Puts what was written on disk.
    func synchronize() throws(LogError) {
        guard DurableFile.flush(file) else { throw LogError.system(errno, path) }
    }
}
