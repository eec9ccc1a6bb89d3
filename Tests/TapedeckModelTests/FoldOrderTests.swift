import TapedeckModel
import Testing

struct FoldOrderTests {
    /// `FoldOrder` values, lowest first.
    static let ascending: [FoldOrder] = {
        func fact(_ version: UInt64, _ observedAt: Int64?, _ content: UInt64) -> FoldOrder {
            ObservedFact(
                entity: Digest16(high: 9, low: 9), content: Digest16(high: content, low: 1),
                version: version, observedAt: observedAt
            ).order
        }
        func activity(_ stamp: UInt64, _ origin: UInt64, _ sequence: UInt64) -> FoldOrder {
            FoldOrder(
                stamp: Stamp(milliseconds: stamp),
                id: EventID(origin: OriginID(high: origin, low: 5), sequence: sequence))
        }
        return [
            .start, fact(0, nil, 1), fact(0, -5, 0), fact(0, 5, 0), fact(0, 5, .max),
            fact(1, nil, 0),
            fact(.max, .max, .max), activity(0, 0, 1), activity(1, 0, 2), activity(1, 0, 3),
            activity(1, 1, 1), activity(2, 0, 1),
        ]
    }()

    @Test func observationsPrecedeActivityWhichIsOrderedByStampAndID() {
        let ascending = FoldOrderTests.ascending
        for (index, left) in ascending.enumerated() {
            for (other, right) in ascending.enumerated() {
                #expect((left < right) == (index < other))
                #expect((left == right) == (index == other))
            }
        }
    }

    /// A projection may route two entities with equal content to one key.
    @Test func entitiesWithEqualContentHaveDifferentOrders() {
        let orders = (0..<100).map { number in
            ObservedFact(
                entity: "broadcast/\(number)", content: [1, 2, 3], version: 7, observedAt: 5
            ).order
        }
        #expect(Set(orders).count == 100)
        #expect(Set(orders.map { [$0.rank] }).count == 1)
    }

    @Test func encodedBytesHaveTheSameOrder() {
        let encoded = FoldOrderTests.ascending.map { order in
            var bytes: [UInt8] = []
            order.append(to: &bytes)
            #expect(bytes.count == FoldOrder.encodedCount)
            #expect(bytes.withUnsafeBytes { FoldOrder(decoding: $0) } == order)
            return bytes
        }
        for (left, right) in zip(encoded, encoded.dropFirst()) {
            #expect(left.lexicographicallyPrecedes(right))
        }
    }
}
