internal import TapedeckProjections

/// The items of a key that remotes have removed, under names that no reader looks for.
///
/// The names of items begin with a letter. In the name of a hidden item, the highest bit of the
/// first byte is set, so hidden items sort like shown items but match none of their prefixes. Either
/// all items of a key are hidden or none is. A fold of a hidden key uses the usual names, and this
/// store translates them.
final class HiddenItems: ItemStore {
    private static let bit: UInt8 = 0x80
    private let items: any ItemStore

    init(_ items: any ItemStore) { self.items = items }

    /// Returns the name under which an item is stored while it is hidden.
    static func name(_ name: RowKey) -> RowKey { RowKey(other(name.bytes)) }

    /// Returns the hidden name for a shown name, and the shown name for a hidden name.
    private static func other(_ name: [UInt8]) -> [UInt8] {
        var name = name
        if !name.isEmpty { name[0] ^= bit }
        return name
    }

    private static func isHidden(_ name: [UInt8]) -> Bool { name.first.map { $0 >= bit } ?? false }

    /// Hides all shown items, or shows all hidden items.
    static func move(_ items: any ItemStore, hiding: Bool) {
        var next = items.first([], from: hiding ? [0] : [bit])
        while let (name, value) = next, isHidden(name) != hiding {
            items.remove(name)
            items.set(other(name), value)
            next = items.first([], from: name + [0])
        }
    }

    // MARK: - ItemStore

    var isUsed: Bool { items.isUsed }
    func get(_ name: [UInt8]) -> [UInt8]? { items.get(Self.other(name)) }
    func set(_ name: [UInt8], _ value: [UInt8]) { items.set(Self.other(name), value) }
    func remove(_ name: [UInt8]) { items.remove(Self.other(name)) }
    func clear() { items.clear() }

    func first(_ prefix: [UInt8], from start: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        items.first(Self.other(prefix), from: Self.other(start)).map {
            (Self.other($0.name), $0.value)
        }
    }

    func last(_ prefix: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        items.last(Self.other(prefix)).map { (Self.other($0.name), $0.value) }
    }
}
