import Foundation
import Testing

/// Files in `schema/vectors` that every later version must read.
enum Vectors {
    static func path(_ name: String, _ file: String = #filePath) -> String {
        URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("schema/vectors/" + name).path
    }

    /// Whether to rewrite the files, which is allowed only for a new format with new file names.
    static var areWritten: Bool {
        ProcessInfo.processInfo.environment["TAPEDECK_WRITE_VECTORS"] == "1"
    }

    /// Returns the bytes of a file of hexadecimal digits; if vectors are rewritten, writes
    /// `current` to the file first.
    static func hex(_ name: String, _ current: [UInt8]) throws -> [UInt8] {
        if areWritten {
            let digits = current.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
            let lines = stride(from: 0, to: digits.count, by: 32).map {
                digits[$0..<min($0 + 32, digits.count)].joined()
            }
            try Data((lines.joined(separator: "\n") + "\n").utf8)
                .write(to: URL(fileURLWithPath: path(name)))
        }
        let text = try String(contentsOfFile: path(name), encoding: .utf8)
        let digits = text.filter(\.isHexDigit).map { $0 }
        return try stride(from: 0, to: digits.count, by: 2).map {
            try #require(UInt8(String(digits[$0...$0 + 1]), radix: 16))
        }
    }
}
