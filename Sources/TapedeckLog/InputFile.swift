internal import Foundation

/// A file read with `pread`, so that a file truncated in the meantime causes an error instead of a
/// crash.
struct InputFile: ~Copyable {
    let path: String
    let byteCount: Int
    private let file: Int32

    init(_ path: String) throws(LogError) {
        let opened = open(path, O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else { throw LogError.system(errno, path) }
        var facts = stat()
        guard fstat(opened, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            _ = close(opened)
            if facts.st_mode & S_IFMT == S_IFDIR { throw LogError.system(EISDIR, path) }
            throw LogError.isNoFile(path)
        }
        file = opened
        byteCount = Int(facts.st_size)
        self.path = path
    }

    deinit { _ = close(file) }

    /// Returns the `count` bytes at `offset`; nil if the file ends earlier.
    func read(_ count: Int, at offset: Int) throws(LogError) -> [UInt8]? {
        guard count <= byteCount - offset else { return nil }
        var number: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let read = pread(
                    file, buffer.baseAddress.map { $0 + filled }, count - filled,
                    off_t(offset + filled))
                if read < 0, errno == EINTR { continue }
                if read <= 0 {
                    number = read < 0 ? errno : 0
                    return
                }
                filled += read
            }
        }
        guard number == 0 else { throw LogError.system(number, path) }
        return bytes.count == count ? bytes : nil
    }
}
