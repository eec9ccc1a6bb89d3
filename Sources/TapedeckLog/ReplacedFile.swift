internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// A file that is written next to its target and replaces it completely or not at all.
struct ReplacedFile: ~Copyable {
    let target: String
    private let path: String
    private let file: Int32
    private var isPlaced = false

    /// Starts a file; `target` is not touched before `place()`.
    init(replacing target: String) throws(LogError) {
        let path = ReplacedFile.temporary(target)
        let opened = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw LogError.system(errno, target) }
        file = opened
        self.path = path
        self.target = target
    }

    deinit {
        _ = close(file)
        if !isPlaced { unlink(path) }
    }

    func write(_ bytes: [UInt8]) throws(LogError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                Foundation.write(
                    file, bytes.baseAddress.map { $0 + written }, bytes.count - written)
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw LogError.system(errno, target)
            }
            written += count
        }
    }

    /// Syncs the file to disk and moves it into place.
    mutating func place() throws(LogError) {
        guard DurableFile.flush(file) else { throw LogError.system(errno, target) }
        try ReplacedFile.move(path, to: target)
        isPlaced = true
    }

    /// Returns an unused name next to `target`.
    static func temporary(_ target: String) -> String {
        target + "." + UInt64.random(in: .min ... .max).paddedHex + temporarySuffix
    }

    static let temporarySuffix = ".tapedeck-part"

    /// Renames a synced file durably.
    static func move(_ path: String, to target: String) throws(LogError) {
        guard rename(path, target) == 0 else { throw LogError.system(errno, target) }
        try DurableFile.synchronize(PathParts.folder(of: target))
    }
}
