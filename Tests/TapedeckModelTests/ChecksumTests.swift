import TapedeckModel
import Testing

struct ChecksumTests {
    struct Vector: CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var checksum: UInt32
    }

    /// The test vectors of RFC 3720, B.4, and the check value of the input "123456789".
    static let vectors: [Vector] = [
        Vector(testDescription: "nothing", bytes: [], checksum: 0),
        Vector(testDescription: "digits", bytes: Array("123456789".utf8), checksum: 0xE306_9283),
        Vector(
            testDescription: "zeros", bytes: [UInt8](repeating: 0, count: 32),
            checksum: 0x8A91_36AA),
        Vector(
            testDescription: "ones", bytes: [UInt8](repeating: 0xFF, count: 32),
            checksum: 0x62A8_AB43),
        Vector(testDescription: "ascending", bytes: Array(0..<32), checksum: 0x46DD_794E),
        Vector(
            testDescription: "descending", bytes: Array((0..<32).reversed()), checksum: 0x113F_DB5C),
    ]

    @Test(arguments: vectors) func checksumIsCRC32C(_ vector: Vector) {
        #expect(vector.bytes.withUnsafeBytes { crc32c($0) } == vector.checksum)
    }

    @Test func checksumCanBeContinued() {
        let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let whole = bytes.withUnsafeBytes { crc32c($0) }
        for cut in [0, 1, 7, 8, 500, 999, 1_000] {
            let first = bytes[..<cut].withUnsafeBytes { crc32c($0) }
            #expect(bytes[cut...].withUnsafeBytes { crc32c($0, seed: first) } == whole)
        }
    }

    /// These hashes order keys in tables of existing stores, so they never change.
    @Test func stableHashNeverChanges() {
        #expect(stableHash("") == 0xB903_4AD3_7056_F5FB)
        #expect(stableHash("note/1", seed: 2) == 0xF4A7_9597_FAF2_9268)
        #expect(stableHash("PlaybackProgressed", seed: 1) == 0x77E7_07FA_5968_7E11)
    }

    @Test func stableHashDependsOnLengthAndSeed() {
        #expect(stableHash("a") != stableHash("a\0"))
        #expect(stableHash("a", seed: 1) != stableHash("a", seed: 2))
        let many = Set((0..<10_000).map { stableHash("note/\($0)") })
        #expect(many.count == 10_000)
    }
}
