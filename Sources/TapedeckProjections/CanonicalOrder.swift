internal import TapedeckModel

extension EventReference {
    /// Returns whether an event precedes another event of the same key.
    ///
    /// If several origins observe the same fact, their observations have the same `order`. These
    /// observations are ordered by stamp, then by id, whatever the order of arrival.
    @inline(__always)
    static func precedes(_ left: EventReference, _ right: EventReference) -> Bool {
        if left.order != right.order { return left.order < right.order }
        if left.stamp != right.stamp { return left.stamp < right.stamp }
        return left.id < right.id
    }
}

extension [EventReference] {
    /// Sorts events from log order into canonical order.
    ///
    /// Most events are already in order, so only late events are taken out, sorted and merged back
    /// in.
    mutating func sortCanonically() {
        var late: [EventReference] = []
        var kept = 0
        for index in indices {
            if kept > 0, EventReference.precedes(self[index], self[kept - 1]) {
                late.append(self[index])
            } else {
                if kept < index { self[kept] = self[index] }
                kept += 1
            }
        }
        guard !late.isEmpty else { return }
        late.sort(by: EventReference.precedes)
        var place = count
        while let last = late.last {
            place -= 1
            if kept > 0, EventReference.precedes(last, self[kept - 1]) {
                kept -= 1
                self[place] = self[kept]
            } else {
                self[place] = last
                late.removeLast()
            }
        }
    }
}
