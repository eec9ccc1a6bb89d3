internal import Foundation
internal import Synchronization
internal import TapedeckLog

/// An unnamed file for bytes beyond a memory budget; it disappears when the process ends.
///
/// Several threads may append at the same time. Read the file only after all threads have finished
/// appending. Methods throw `LogError`: `.diskFull` or another system error.
final class SpillFile: @unchecked Sendable {
    private let path: String
    private let file: Int32
    private let count = Atomic<Int>(0)
    private let map = Mutex<UnsafeRawBufferPointer?>(nil)

    /// - Parameter path: The path at which to create the file; no other process uses it. A file that a
    ///   killed process left there is replaced.
    init(_ path: String) throws {
        self.path = path
        unlink(path)
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

    /// The number of bytes appended.
    var byteCount: Int { count.load(ordering: .relaxed) }

    /// Appends bytes and returns their range in the file.
    func append(_ bytes: UnsafeRawBufferPointer) throws -> Range<Int> {
        let start = count.add(bytes.count, ordering: .relaxed).oldValue
        try DurableFile.write(bytes, to: file, at: start, path)
        return start..<start + bytes.count
    }

    /// Returns appended bytes, which are valid for the lifetime of this object.
    ///
    /// Do not append any bytes after calling this method.
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
