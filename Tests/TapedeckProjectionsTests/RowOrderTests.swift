import TestSupport
import Testing

@testable import TapedeckProjections

/// Rows are sorted by the first bytes of their keys, read as two numbers, and by their complete
/// keys if these numbers are equal.
@Suite(.offTasks) struct RowOrderTests {
    @Test(arguments: [0, 1, 100, 600, 5_000])
    func batchesAreSortedByTheirKeys(_ count: Int) {
        let seed = Seed()
        var random = seed.generator()
        let batch = RowBatch()
        var keys: [[UInt8]] = []
        for number in 0..<count {
            // Many keys have the same beginning, some are prefixes of others, and none occurs
            // twice.
            let length = random.pick([0, 3, 8, 16, 20])
            let key =
                (0..<length).map { _ in UInt8(random.number(below: 2)) }
                + [UInt8(number >> 8), UInt8(number & 0xFF)]
            keys.append(key)
            key.withUnsafeBytes { key in
                withUnsafeBytes(of: UInt16(number)) { batch.add(key, value: $0) }
            }
        }
        var found: [[UInt8]] = []
        let sorted = batch.sorted()
        defer { withExtendedLifetime(sorted) {} }
        var walker = RowWalker(sorted.bytes)
        while let (key, value) = walker.next() {
            found.append(Array(key))
            #expect(keys[Int(value.loadUnaligned(as: UInt16.self))] == Array(key))
        }
        #expect(found == keys.sorted { $0.lexicographicallyPrecedes($1) }, "\(seed)")
        #expect(sorted.count == count)
    }
}
