internal import Foundation
public import Tapedeck

/// A projection that replaces another projection and folds nothing, so that tests of the original
/// must fail.
///
/// `TemporaryStore` uses the replacement instead of the projection named by the environment
/// variable `TAPEDECK_EMPTY_FOLD`, so you can check a whole suite. For example,
/// `TAPEDECK_EMPTY_FOLD=watch-later swift test` shows which tests notice that no video is ever
/// marked to watch later.
///
/// Queries find the replacement because it has the name, the version and the parameters of the
/// original.
public struct EmptyFold<Original: Projection>: Projection {
    private let original: Original

    /// Creates a replacement for a projection.
    public init(_ original: Original) { self.original = original }

    /// The original's state type; the state always keeps its initial value.
    public typealias State = Original.State
    /// The original's name.
    public var name: String { original.name }
    /// The original's version.
    public var version: Int { original.version }
    /// The original's parameters.
    public var parameters: String { original.parameters }
    /// The original's tag kind.
    public var tagKind: String { original.tagKind }
    /// The original's event types in Swift.
    public var events: [any Event.Type] { original.events }
    /// The original's event types.
    public var eventTypes: [EventType] { original.eventTypes }
    /// The original's fold law.
    public var law: FoldLaw { original.law }
    /// The original's maximum schema version.
    public var schemaVersionMax: UInt16 { original.schemaVersionMax }
    /// The original's rule text.
    public var ruleText: String? { original.ruleText }
    /// The original's tables.
    public var tables: [String] { original.tables }
    /// Whether the original's items yield rows.
    public var itemsYieldRows: Bool { original.itemsYieldRows }
    /// The items of the original that can be followed.
    public var followedItems: [[UInt8]] { original.followedItems }
    /// Whether the original's rows can be followed.
    public var rowsAreFollowed: Bool { original.rowsAreFollowed }
    /// Whether the original is built on demand.
    public var isOnDemand: Bool { original.isOnDemand }

    /// Does nothing.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {}

    /// Returns the original's rows for the initial state.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        original.rows(of: state, key: key, into: &rows)
    }

    /// Returns the original's rows for an item.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        try original.rows(ofItem: item, key: key, into: &rows)
    }
}

/// Replaces the projection named by the environment with an empty fold.
enum EmptyFolds {
    static func replacing(_ projections: [any Projection]) -> [any Projection] {
        guard let name = ProcessInfo.processInfo.environment["TAPEDECK_EMPTY_FOLD"] else {
            return projections
        }
        func emptied(_ original: some Projection) -> any Projection { EmptyFold(original) }
        return projections.map { $0.name == name ? emptied($0) : $0 }
    }
}
