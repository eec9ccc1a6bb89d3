public import TapedeckModel

/// One key of a projection while events are folded into it: its state and its items.
///
/// **Items** are an ordered collection of byte strings that belongs to the key and need not fit in
/// memory: the comments of a video, the messages of a room. A fold touches the few that it needs, so
/// its cost does not grow with their number. Queries read them by prefix, in byte order.
public struct KeyedState<State: ProjectionState>: ~Copyable {
    /// The key: a tag of the projection's kind.
    public let key: Tag
    /// What the key remembers.
    public var state: State
    package let items: any ItemStore
    package var wantsRefold = false

    package init(key: Tag, state: State, items: any ItemStore) {
        self.key = key
        self.state = state
        self.items = items
    }

    /// The longest name of an item in bytes; a longer one is cut and ends in a hash.
    public static var itemNameLengthMax: Int { ItemName.lengthMax }

    /// The item of this name, or nil.
    public func item(_ name: RowKey) -> [UInt8]? { items.get(ItemName.bytes(name)) }

    /// Sets an item; an equal item is left alone.
    public mutating func setItem(_ name: RowKey, _ value: [UInt8]) {
        items.set(ItemName.bytes(name), value)
    }

    /// Removes an item; a missing one is no error.
    public mutating func removeItem(_ name: RowKey) { items.remove(ItemName.bytes(name)) }

    /// The first item whose name begins with `prefix`.
    public func firstItem(prefix: RowKey) -> (name: [UInt8], value: [UInt8])? {
        items.first(prefix.bytes)
    }

    /// The last item whose name begins with `prefix`.
    public func lastItem(prefix: RowKey) -> (name: [UInt8], value: [UInt8])? {
        items.last(prefix.bytes)
    }

    /// Asks the runner to fold this key again in canonical order; only under `FoldLaw.any`.
    ///
    /// For the rare event whose place among those already folded decides the outcome. In canonical
    /// order a fold must not ask.
    public mutating func requestRefold() { wantsRefold = true }
}

/// The bytes of an item's name behind its key's own, which LMDB's longest key leaves room for.
enum ItemName {
    static let lengthMax = 200

    @inline(__always)
    static func bytes(_ name: RowKey) -> [UInt8] {
        name.bytes.count <= lengthMax ? name.bytes : cut(name.bytes)
    }

    private static func cut(_ name: [UInt8]) -> [UInt8] {
        let digest = Digest16(hashing: name)
        var bytes = Array(name.prefix(lengthMax - 16))
        bytes.appendBigEndian(digest.high)
        bytes.appendBigEndian(digest.low)
        return bytes
    }
}
