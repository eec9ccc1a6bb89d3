/// Reads the lines of a file with bounded memory.
struct LineReader {
    /// A line without its line feed.
    enum Line {
        case bytes([UInt8])
        /// A line longer than `lineBytesMax`, which was skipped.
        case tooLong

        /// The number of bytes in the line; 0 if the line was too long.
        var byteCount: Int {
            if case .bytes(let bytes) = self { bytes.count } else { 0 }
        }
    }

    /// The maximum length of a line in bytes: twice the largest payload, plus its surrounding JSON.
    static let lineBytesMax = 8_454_144

    private let input: FileInput
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    /// The number of bytes read from the file so far.
    private(set) var bytesRead: UInt64 = 0

    init(_ input: FileInput) { self.input = input }

    /// Returns the next line; nil after the last line.
    mutating func next() throws -> Line? {
        var line: [UInt8] = []
        var isTooLong = false
        var hasAny = false
        while true {
            if start == buffer.count {
                guard try fill() else {
                    guard hasAny else { return nil }
                    return isTooLong ? .tooLong : .bytes(line)
                }
            }
            hasAny = true
            let end = buffer[start...].firstIndex(of: 0x0A)
            let part = buffer[start..<(end ?? buffer.count)]
            if line.count + part.count > LineReader.lineBytesMax {
                isTooLong = true
                line = []
            }
            if !isTooLong { line.append(contentsOf: part) }
            start = end.map { $0 + 1 } ?? buffer.count
            if end != nil { return isTooLong ? .tooLong : .bytes(line) }
        }
    }

    private mutating func fill() throws -> Bool {
        guard !isAtEnd else { return false }
        let input = input
        buffer = try [UInt8](unsafeUninitializedCapacity: FileInput.chunkBytes) { bytes, count in
            count = try input.read(into: UnsafeMutableRawBufferPointer(bytes))
        }
        start = 0
        bytesRead += UInt64(buffer.count)
        isAtEnd = buffer.isEmpty
        return !isAtEnd
    }
}
