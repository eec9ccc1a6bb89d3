import Foundation
import TestSupport
import Testing

@testable import TapedeckProjections

/// The order in which a rebuild folds the entries of a partition.
@Suite(.offTasks) struct EntryOrderTests {
    @Test(
        "By hash, then by position, however the blocks were divided among threads"
    )
    func entriesAreSortedByHashThenPosition() throws {
        // Use few keys with many entries each, many keys with few entries, and hashes that differ
        // only in their last bits, so that some buckets are large and contain several hashes.
        for (keys, entries) in [(1, 3), (3, 500), (40, 5_000), (4_000, 6_000), (6_000, 6_000)] {
            var random = SeededGenerator(UInt64(keys))
            // Use as many partitions as for a long log.
            let partitions = HashPartitions(entries: .max)
            let partition: UInt64 = 7 << 56
            let hashes = (0..<UInt64(keys)).map { key -> UInt64 in
                let rest: UInt64 = key % 3 == 0 ? key : random.next() >> 8
                return partition | rest
            }
            let spill = try SpillFile(
                NSTemporaryDirectory() + "/tapedeck-entries-\(UUID().uuidString)")
            // One thread keeps all entries in memory, another keeps one per partition, and a third
            // keeps as few as possible.
            let threads = [1 << 20, 3_000, 0].map {
                PartitionEntries(partitions, entriesMax: $0, spillingTo: spill)
            }
            var expected: [(hash: UInt64, position: UInt64)] = []
            for block in stride(from: 0, to: entries, by: 700) {
                let thread = threads[Int(random.next() % 3)]
                thread.begin(block: UInt64(block))
                for position in block..<min(block + 700, entries) {
                    let hash = hashes[Int(random.next() % UInt64(keys))]
                    thread.add(hash: hash, EventPlace(position: UInt64(position)))
                    // This entry belongs to another partition.
                    thread.add(hash: 8 << 56, EventPlace(position: UInt64(position)))
                    expected.append((hash, UInt64(position)))
                }
                try thread.keepBudget()
            }
            expected.sort { ($0.hash, $0.position) < ($1.hash, $1.position) }
            var order = EntryOrder(partitions)
            let found = try order.sorted(threads.flatMap { try $0.take(7) })
            #expect(found.map(\.hash) == expected.map(\.hash))
            #expect(found.map(\.place.position) == expected.map(\.position))
            let other = try order.sorted(threads.flatMap { try $0.take(8) })
            #expect(other.map(\.place.position) == (0..<entries).map { UInt64($0) })
        }
    }
}
