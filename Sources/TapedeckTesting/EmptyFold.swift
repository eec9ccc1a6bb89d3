internal import Foundation
public import Tapedeck

/// A projection that stands in for another and folds nothing: tests of that other one must then fail.
///
/// `TemporaryStore` opens its stores with one in place of the projection that the environment variable
/// `TAPEDECK_EMPTY_FOLD` names, so that a whole suite can be tried:
/// `TAPEDECK_EMPTY_FOLD=watch-later swift test` shows which tests would notice that nothing is marked.
///
/// Queries find it by the name, the version and the parameters of the one that it stands in for.
public struct EmptyFold<Original: Projection>: Projection {
    private let original: Original

    /// Stands in for a projection.
    public init(_ original: Original) { self.original = original }

    /// The original's state, as it is before the first event.
    public typealias State = Original.State
    /// The original's name.
    public var name: String { original.name }
    /// The original's version.
    public var version: Int { original.version }
    /// The original's parameters.
    public var parameters: String { original.parameters }
    /// The original's kind of tag.
    public var tagKind: String { original.tagKind }
    /// The original's events.
    public var events: [any Event.Type] { original.events }
    /// The original's types.
    public var eventTypes: [EventType] { original.eventTypes }
    /// The original's law.
    public var law: FoldLaw { original.law }
    /// The original's versions of payloads.
    public var schemaVersionMax: UInt16 { original.schemaVersionMax }
    /// The original's rule.
    public var ruleText: String? { original.ruleText }
    /// The original's tables.
    public var tables: [String] { original.tables }
    /// Whether the original's items yield rows.
    public var itemsYieldRows: Bool { original.itemsYieldRows }
    /// The original's items that can be followed.
    public var followedItems: [[UInt8]] { original.followedItems }
    /// Whether the original's rows can be followed.
    public var rowsAreFollowed: Bool { original.rowsAreFollowed }
    /// Whether the original is kept on demand.
    public var isOnDemand: Bool { original.isOnDemand }

    /// Folds nothing.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {}

    /// What the original shows of nothing.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        original.rows(of: state, key: key, into: &rows)
    }

    /// What the original shows of an item.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        try original.rows(ofItem: item, key: key, into: &rows)
    }
}

/// Puts an empty fold in the place of the projection that the environment names.
enum EmptyFolds {
    static func replacing(_ projections: [any Projection]) -> [any Projection] {
        guard let name = ProcessInfo.processInfo.environment["TAPEDECK_EMPTY_FOLD"] else {
            return projections
        }
        func emptied(_ original: some Projection) -> any Projection { EmptyFold(original) }
        return projections.map { $0.name == name ? emptied($0) : $0 }
    }
}
