internal import TapedeckModel

extension EventReference {
    /// Whether an event comes before another one of its key.
    ///
    /// Facts that several origins have seen alike have one place; of them the one of the least stamp and
    /// identity is folded, so that it does not matter who arrived first.
    @inline(__always)
    static func precedes(_ left: EventReference, _ right: EventReference) -> Bool {
        if left.order != right.order { return left.order < right.order }
        if left.stamp != right.stamp { return left.stamp < right.stamp }
        return left.id < right.id
    }
}

extension [EventReference] {
    /// Puts events that stand in log order in canonical order.
    ///
    /// Most of them are: those that came late are taken out, sorted by themselves, and merged in again.
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
