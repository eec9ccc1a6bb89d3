internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The lists that remotes keep, each merged from its observations.
///
/// Table 0 contains the lists by title; lists without a title come last.
public struct KnownLists: Projection {
    /// Creates the projection.
    public init() {}

    /// `known-lists`.
    public var name: String { "known-lists" }
    /// 1.
    public var version: Int { 1 }
    /// `list`.
    public var tagKind: String { "list" }
    /// Observations of lists.
    public var eventTypes: [EventType] { [ListObserved.eventType] }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        "Each field has the value of the newest observation that contains the field."
    }
    /// One table: the lists by title.
    public var tables: [String] { ["by-title"] }

    /// The merged observations of a list.
    public struct State: ProjectionState, Equatable {
        var list = ListObserved()

        /// Creates the state of an unknown list.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws { list = try bytes.message() }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) { bytes.add(message: list) }
    }

    /// Folds an observation.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        key.state.list.merge(newer: try event.decode(ListObserved.self).normalized())
    }

    /// Adds the row of the list.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        var value = StateWriter()
        state.encode(into: &value)
        let title = SearchText(state.list.title).bytes.utf8Text
        rows.add(
            table: 0,
            key: RowKey().ascending(Int64(title.isEmpty ? 1 : 0)).text(title).text(key.name),
            value: value.bytes)
    }
}

extension ListObserved: PartialObservation {
    static let observationFields: [ObservationField<ListObserved>] = [
        ObservationField(\.list),
        ObservationField(\.hasTitle, \.title),
        ObservationField(\.hasOwner, \.owner),
        ObservationField(\.hasOwnerName, \.ownerName),
        ObservationField(\.hasThumbnailURL, \.thumbnailURL),
        ObservationField(\.hasFollowed, \.followed),
    ]
}
