internal import TapedeckModel
internal import TapedeckProjections

/// The item of a list that has the least name.
///
/// An item that was read remains encoded until a fold needs it.
enum FirstItem {
    case encoded([UInt8])
    case item(name: [UInt8], value: [UInt8])

    /// Reads the item at the end of a state; returns nil if there is none.
    ///
    /// Queries decode the states of many keys and do not need the item, so they do not read it.
    static func last(of state: inout StateReader) throws(ModelError) -> FirstItem? {
        guard !state.isForQuery else { return nil }
        return try state.optional { (reader) throws(ModelError) in
            .encoded(try reader.encodedBytes(2))
        }
    }

    func encode(into writer: inout StateWriter) {
        switch self {
        case .encoded(let bytes): writer.add(encoded: bytes)
        case .item(let name, let value):
            writer.add(name)
            writer.add(value)
        }
    }

    /// The item's name and value.
    var item: (name: [UInt8], value: [UInt8]) {
        get throws(ModelError) {
            switch self {
            case .item(let name, let value): (name: name, value: value)
            case .encoded(let bytes):
                try StateReader.read(bytes) { (reader) throws(ModelError) in
                    (name: try reader.bytes(), value: try reader.bytes())
                }
            }
        }
    }
}

extension FirstItem: Equatable {
    static func == (one: FirstItem, other: FirstItem) -> Bool { one.bytes == other.bytes }

    private var bytes: [UInt8] {
        var writer = StateWriter()
        encode(into: &writer)
        return writer.encoded
    }
}

/// `storectl explain` shows no items, wherever they are stored.
extension FirstItem: CustomReflectable {
    var customMirror: Mirror {
        Mirror(self, children: EmptyCollection<Mirror.Child>(), displayStyle: .struct)
    }
}

/// An item store that keeps the first item of a list in memory; a fold then moves it to the
/// state of the key.
///
/// Most keys have only one item of the list, such as one broadcast. They then need no row in the
/// table of items, which would cost as much as the row of the state. Which item is in the state does
/// not depend on the order of the events.
final class FirstItemStore: ItemStore {
    private let items: any ItemStore
    private let list: [UInt8]
    /// The first item of the list; nil if the list is empty.
    ///
    /// `items` contains the other items.
    private var first: (name: [UInt8], value: [UInt8])? { didSet { hasChanged = true } }
    /// Whether `first` has changed since the last call of `keep`.
    private var hasChanged = false

    /// - Parameter list: The prefix of the names in the list.
    init(_ items: any ItemStore, _ list: [UInt8], _ first: FirstItem?) throws(ModelError) {
        (self.items, self.list) = (items, list)
        self.first = try first?.item
    }

    /// Returns the store of a key, which its first fold creates; later folds of the key use it again.
    static func of<State>(
        _ key: inout KeyedState<State>, _ list: [UInt8], _ first: FirstItem?
    ) throws(ModelError) -> FirstItemStore {
        if let items = key.items as? FirstItemStore { return items }
        let items = try FirstItemStore(key.items, list, first)
        key.items = items
        return items
    }

    /// Copies the first item to the state of the key, if it has changed.
    func keep(in state: inout FirstItem?) {
        guard hasChanged else { return }
        state = first.map { .item(name: $0.name, value: $0.value) }
        hasChanged = false
    }

    var isUsed: Bool { items.isUsed }

    func get(_ name: [UInt8]) -> [UInt8]? {
        guard name.starts(with: list) else { return items.get(name) }
        // No item of the list comes before the first one.
        guard let first, !name.lexicographicallyPrecedes(first.name) else { return nil }
        return name == first.name ? first.value : items.get(name)
    }

    func set(_ name: [UInt8], _ value: [UInt8]) {
        guard name.starts(with: list) else { return items.set(name, value) }
        if let first, first.name != name {
            guard name.lexicographicallyPrecedes(first.name) else { return items.set(name, value) }
            items.set(first.name, first.value)
        }
        first = (name, value)
    }

    func remove(_ name: [UInt8]) {
        guard name == first?.name else { return items.remove(name) }
        first = items.first(list)
        if let first { items.remove(first.name) }
    }

    func clear() {
        first = nil
        items.clear()
    }

    func first(_ prefix: [UInt8], from start: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        let own = own(prefix).flatMap { $0.name.lexicographicallyPrecedes(start) ? nil : $0 }
        if prefix.starts(with: list), own != nil || first == nil { return own }
        guard let own else { return items.first(prefix, from: start) }
        guard let other = items.first(prefix, from: start) else { return own }
        return own.name.lexicographicallyPrecedes(other.name) ? own : other
    }

    func last(_ prefix: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        guard let own = own(prefix) else { return items.last(prefix) }
        guard let other = items.last(prefix) else { return own }
        return own.name.lexicographicallyPrecedes(other.name) ? other : own
    }

    /// Returns the first item of the list if its name begins with a prefix.
    private func own(_ prefix: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        first.flatMap { $0.name.starts(with: prefix) ? $0 : nil }
    }
}
