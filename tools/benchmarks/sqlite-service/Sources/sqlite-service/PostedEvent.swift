/// The body of a request, read in place: origin (16 bytes), sequence number (8 bytes,
/// little-endian), the length of the tag (1 byte), the tag, the payload.
struct PostedEvent: Sendable {
    let bytes: [UInt8]
    let origin = 0..<16
    let sequence: Int64
    let tag: Range<Int>
    let payload: Range<Int>

    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 25 else { return nil }
        var sequence: UInt64 = 0
        for byte in bytes[16..<24].reversed() { sequence = sequence << 8 | UInt64(byte) }
        let end = 25 + Int(bytes[24])
        guard end <= bytes.count else { return nil }
        self.bytes = bytes
        self.sequence = Int64(bitPattern: sequence)
        tag = 25..<end
        payload = end..<bytes.count
    }
}
