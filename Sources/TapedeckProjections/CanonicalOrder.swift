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
