internal import Foundation
internal import Synchronization
internal import TapedeckLog

/// Bytes that wait on disk and not in memory, in a file without a name: it goes with the process, however
/// that ends.
///
/// Threads may append at once. What was appended is read once nobody appends any more. Throws `LogError`:
/// `.diskFull` and what else the system says.
final class SpillFile: @unchecked Sendable {
    private let path: String
    private let file: Int32
    private let count = Atomic<Int>(0)
    private let map = Mutex<UnsafeRawBufferPointer?>(nil)

    /// - Parameter path: where to make it; nothing may be there.
    init(_ path: String) throws {
        self.path = path
        file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw LogError.system(errno, path) }
        unlink(path)
    }

    deinit {
        map.withLock {
            guard let map = $0 else { return }
            munmap(UnsafeMutableRawPointer(mutating: map.baseAddress), map.count)
        }
        close(file)
    }

    /// How many bytes were appended.
    var byteCount: Int { count.load(ordering: .relaxed) }

    /// Writes bytes behind the others; gives where they are found again.
    func append(_ bytes: UnsafeRawBufferPointer) throws -> Range<Int> {
        let start = count.add(bytes.count, ordering: .relaxed).oldValue
        try DurableFile.write(bytes, to: file, at: start, path)
        return start..<start + bytes.count
    }

    /// What was appended; it holds as long as the file.
    ///
    /// Nothing may be appended behind this.
    func bytes(_ range: Range<Int>) throws -> UnsafeRawBufferPointer {
        guard !range.isEmpty else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let all = try map.withLock { map in
            if let map { return map }
            let start = mmap(nil, byteCount, PROT_READ, MAP_PRIVATE, file, 0)
            guard let start, start != MAP_FAILED else { throw LogError.system(errno, path) }
            let made = UnsafeRawBufferPointer(start: start, count: byteCount)
            map = made
            return made
        }
        return UnsafeRawBufferPointer(rebasing: all[range])
    }
}
