public import TapedeckModel

/// A key of a projection while events are folded into it, with its state and its items.
///
/// **Items** are an ordered collection of byte strings that belong to the key and need not fit in
/// memory, such as the comments on a video or the messages in a room. A fold touches only the items
/// that it needs, so the cost of a fold does not grow with the total number of items. Queries read
/// items by prefix, in byte order.
public struct KeyedState<State: ProjectionState>: ~Copyable {
    /// The key, which is a tag of the projection's kind.
    public let key: Tag
    /// The state of the key.
    public var state: State
    package var items: any ItemStore
    package var wantsRefold = false

    // Without inlining, each initialization looks up the generic type once more.
    @inline(__always)
    package init(key: Tag, state: State, items: any ItemStore) {
        self.key = key
        self.state = state
        self.items = items
    }

    /// The maximum length of an item name in bytes; a longer name is truncated and ends with a
    /// hash.
    public static var itemNameLengthMax: Int { ItemName.lengthMax }

    /// Returns the item with the given name; nil if there is none.
    public func item(_ name: RowKey) -> [UInt8]? { items.get(ItemName.bytes(name)) }

    /// Sets an item; setting an equal value changes nothing.
    public mutating func setItem(_ name: RowKey, _ value: [UInt8]) {
        items.set(ItemName.bytes(name), value)
    }

    /// Removes an item, if it exists.
    public mutating func removeItem(_ name: RowKey) { items.remove(ItemName.bytes(name)) }

    /// Returns the first item whose name begins with `prefix`.
    public func firstItem(prefix: RowKey) -> (name: [UInt8], value: [UInt8])? {
        items.first(prefix.bytes)
    }

    /// Returns the first item after `name` whose name begins with `prefix`.
    ///
    /// - Parameter name: The name of an item, as `firstItem` and `nextItem` return it.
    public func nextItem(
        after name: [UInt8], prefix: RowKey
    ) -> (name: [UInt8], value: [UInt8])? {
        items.first(prefix.bytes, from: name + [0])
    }

    /// Returns the last item whose name begins with `prefix`.
    public func lastItem(prefix: RowKey) -> (name: [UInt8], value: [UInt8])? {
        items.last(prefix.bytes)
    }

    /// Asks the runner to fold this key again in canonical order; only allowed under `FoldLaw.any`.
    ///
    /// Call this method for a rare event whose effect depends on its position among the events
    /// already folded. A fold under `FoldLaw.canonical` must not call this method.
    public mutating func requestRefold() { wantsRefold = true }
}

/// Limits item names so that the key and the name fit in an LMDB key.
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
