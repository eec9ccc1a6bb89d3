internal import Synchronization
@_spi(Core) package import TapedeckModel

/// A type-erased projection, as used by the runner and rebuilds.
///
/// The typed subclass folds an entire key in one call, so the cost of dynamic dispatch is paid once
/// per key rather than once per event.
package class ProjectionDriver: @unchecked Sendable {
    package let name: String
    package let version: Int
    package let parameters: String
    package let tagPrefix: [UInt8]
    package let eventTypes: [EventType]
    /// The schemas of `eventTypes`, in the same order.
    private let schemas: [PayloadSchema]
    /// The lowest `newest` version of all `schemas`; the fold reads payloads up to this version,
    /// whatever their type.
    private let schemaVersionMin: UInt16
    /// Whether any event type has upcasters.
    private let isUpcasting: Bool
    package let law: FoldLaw
    package let ruleText: String?
    package let tables: [String]
    package let itemsYieldRows: Bool
    package let followedItems: [[UInt8]]
    package let statesAreFollowed: Bool
    package let rowsAreFollowed: Bool
    package let isOnDemand: Bool
    /// The digest of everything that determines the rows, apart from the events.
    package let fingerprint: Digest16

    /// The version of the layout of views files; raise it when the meaning of their bytes changes.
    static let viewsFormat = 3

    init(_ projection: some Projection) {
        name = projection.name
        version = projection.version
        parameters = projection.parameters
        tagPrefix = Array((projection.tagKind + "/").utf8)
        eventTypes = projection.eventTypes
        schemas = PayloadSchema.all(of: projection)
        schemaVersionMin = schemas.map(\.newest).min() ?? 0
        isUpcasting = schemas.contains { !$0.upcasters.isEmpty }
        law = projection.law
        ruleText = projection.ruleText
        tables = projection.tables
        itemsYieldRows = projection.itemsYieldRows
        followedItems = projection.followedItems
        statesAreFollowed = projection.statesAreFollowed
        rowsAreFollowed = projection.rowsAreFollowed
        isOnDemand = projection.isOnDemand
        fingerprint = ProjectionDriver.fingerprint(of: projection)
    }

    /// Returns whether the fold reads payloads of this schema version for the type at index
    /// `index`.
    @inline(__always)
    final func knows(_ schemaVersion: UInt16, _ index: Int16) -> Bool {
        schemaVersion <= schemaVersionMin || schemaVersion <= schemas[Int(index)].newest
    }

    /// Returns the payload of an event in the newest schema of its type; nil if the payload needs
    /// no change.
    @inline(__always)
    final func upcasted(_ record: RecordView, _ index: Int) throws -> [UInt8]? {
        isUpcasting ? try upcast(record, index) : nil
    }

    final func newestVersion(_ index: Int) -> UInt16 { schemas[index].newest }

    private func upcast(_ record: RecordView, _ index: Int) throws -> [UInt8]? {
        let upcasters = schemas[index].upcasters
        guard !upcasters.isEmpty, Int(record.schemaVersion) <= upcasters.count else { return nil }
        return try upcasters.upcast(
            Array(record.payload), from: record.schemaVersion, eventTypes[index])
    }

    /// Returns the fingerprint of a projection, which is cached because reads request it
    /// repeatedly.
    package static func fingerprint<P: Projection>(of projection: P) -> Digest16 {
        let form = ProjectionForm(
            type: ObjectIdentifier(P.self), name: projection.name, version: projection.version,
            parameters: projection.parameters)
        if let known = fingerprints.withLock({ $0[form] }) { return known }
        let fingerprint = madeFingerprint(of: projection)
        fingerprints.withLock { $0[form] = fingerprint }
        return fingerprint
    }

    /// The fingerprints computed in this process, one for each projection in the program.
    private static let fingerprints = Mutex<[ProjectionForm: Digest16]>([:])

    private static func madeFingerprint(of projection: some Projection) -> Digest16 {
        var bytes: [UInt8] = []
        bytes.appendVarint(UInt64(viewsFormat))
        bytes.appendPrefixed(projection.name)
        bytes.appendVarint(UInt64(projection.version))
        bytes.appendPrefixed(projection.parameters)
        bytes.appendPrefixed(projection.tagKind)
        let versions = PayloadSchema.all(of: projection).map(\.newest)
        if versions.allSatisfy({ $0 == versions[0] }) {
            bytes.appendVarint(UInt64(versions.first ?? projection.schemaVersionMax))
        } else {
            bytes.append(0)
            for version in versions { bytes.appendVarint(UInt64(version)) }
        }
        bytes.append(projection.law == .any ? 1 : 0)
        for type in projection.eventTypes { bytes.appendPrefixed(type.name) }
        bytes.append(0)
        for table in projection.tables { bytes.appendPrefixed(table) }
        return Digest16(hashing: bytes)
    }

    /// Folds a key from the start; `events` are all its events in canonical order.
    package func foldAll(
        key: Tag, events: [EventReference], typeIndex: [Int16], items: any ItemStore,
        into output: inout KeyOutput
    ) {}

    /// Folds new events into a stored key; returns false if the key must be folded again.
    package func foldMore(
        key: Tag, stored: StoredKey?, events: [EventReference], typeIndex: [Int16],
        items: any ItemStore,
        into output: inout KeyOutput
    ) throws -> Bool { false }

    /// Folds a key without items from an in-key checkpoint; `events` are the events after the
    /// checkpoint.
    package func foldOn(
        key: Tag, from checkpoint: StoredKey, events: [EventReference], typeIndex: [Int16],
        items: any ItemStore, into output: inout KeyOutput
    ) throws {}

    /// Adds the rows of a stored state.
    package func rows(key: Tag, stored: StoredKey, into rows: inout RowSink) throws {}

    /// Returns the fields of a stored state, for display.
    package func fields(of stored: StoredKey) throws -> [StateField] { [] }

    /// Adds the rows of an item.
    package func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {}
}

/// The payload schema of one event type, as known to a projection.
private struct PayloadSchema {
    /// The newest version that the fold reads.
    let newest: UInt16
    /// The upcasters for older payloads; empty if the fold reads them as recorded.
    let upcasters: [Upcaster]

    /// Returns the schemas of a projection's `eventTypes`, in the same order.
    static func all(of projection: some Projection) -> [PayloadSchema] {
        let types = projection.events
        return projection.eventTypes.map { name in
            guard let type = types.first(where: { $0.eventType == name }) else {
                return PayloadSchema(newest: projection.schemaVersionMax, upcasters: [])
            }
            return PayloadSchema(newest: type.schemaVersion, upcasters: type.upcasters)
        }
    }
}

/// The identity of a projection within a program; it determines all other properties of the
/// projection.
private struct ProjectionForm: Hashable {
    let type: ObjectIdentifier
    let name: String
    let version: Int
    let parameters: String
}

/// The row of a key in the table of states.
///
/// The flags come first (1 byte: 1 = frozen). Under the canonical law, the flags are followed by
/// the number of folded events (a varint, at most 1 if the projection folds compacted logs) and the
/// order of the last event (33 bytes). The state comes last.
package struct StoredKey {
    package var isFrozen: Bool
    package var count: UInt64
    package var lastOrder: FoldOrder
    package var state: UnsafeRawBufferPointer

    /// Reads a row; throws `StoredRowError` if its bytes are invalid.
    package init(_ bytes: UnsafeRawBufferPointer, law: FoldLaw) throws {
        var reader = ByteReader(bytes)
        guard let flags = reader.littleEndian(UInt8.self) else { throw StoredKey.damaged }
        isFrozen = flags & StoredKey.frozenFlag != 0
        if law == .canonical {
            guard let count = reader.varint(), count <= StoredNumber.max,
                let order = reader.slice(FoldOrder.encodedCount)
            else { throw StoredKey.damaged }
            self.count = count
            lastOrder = FoldOrder(decoding: order)
        } else {
            count = 1
            lastOrder = .start
        }
        guard let state = reader.slice(reader.remaining) else { throw StoredKey.damaged }
        self.state = state
    }

    static let frozenFlag: UInt8 = 1

    /// Returns whether a row belongs to a frozen key; reads only the flags.
    static func isFrozen(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.first.map { $0 & frozenFlag != 0 } ?? false
    }

    private static let damaged = StoredRowError(
        cause: ModelError(
            .damaged, "a projection's row is damaged",
            hint: "storectl replay rebuilds projections"))
}

/// The result of folding a key: its state row, its index rows, and the rejected event if there is
/// one.
package struct KeyOutput: ~Copyable {
    /// The row in the table of states; empty if the key has no state.
    package var stored = StateWriter()
    package var rows = RowSink()
    /// The index rows before the fold.
    ///
    /// If the state has not changed, neither `rowsBefore` nor `rows` contains the state's rows.
    package var rowsBefore = RowSink()
    /// The in-key checkpoints, each with the order of its last event and the state row after that
    /// event.
    package var checkpoints: [(order: FoldOrder, row: [UInt8])] = []
    /// The event that the fold rejected and the reason; the key keeps its previous state.
    package var poison: (id: EventID, position: UInt64, reason: String)?

    package init() {}

    package mutating func removeAll() {
        stored.bytes.removeAll(keepingCapacity: true)
        rows.removeAll()
        rowsBefore.removeAll()
        checkpoints.removeAll(keepingCapacity: true)
        poison = nil
    }
}

/// The driver of one projection.
package final class TypedDriver<P: Projection>: ProjectionDriver, @unchecked Sendable {
    /// The number of events of a key between in-key checkpoints.
    package static var eventsPerCheckpoint: UInt64 { 64 }
    /// The number of events that are prefetched ahead of the fold.
    private static var fetchedAhead: Int { 8 }

    private let projection: P

    package init(_ projection: P) {
        self.projection = projection
        super.init(projection)
    }

    package override func foldAll(
        key: Tag, events: [EventReference], typeIndex: [Int16], items: any ItemStore,
        into output: inout KeyOutput
    ) {
        // The following code does the same as `fold` from an empty state, but without a generic
        // `Start`, which would cost a type lookup for every key.
        var keyed = KeyedState<P.State>(key: key, state: P.State(), items: items)
        var count: UInt64 = 0
        var last = FoldOrder.start
        if run(events[...], &keyed, &count, &last, typeIndex, into: &output) != nil {
            items.clear()
            output.removeAll()
            fold(events, key, from: Start(state: P.State()), typeIndex, items, into: &output)
            return
        }
        guard count > 0 else { return }
        finish(keyed, count: count, order: last, isFrozen: false, into: &output)
    }

    package override func foldOn(
        key: Tag, from checkpoint: StoredKey, events: [EventReference], typeIndex: [Int16],
        items: any ItemStore, into output: inout KeyOutput
    ) throws {
        let start = Start(
            state: try decode(checkpoint), count: checkpoint.count, order: checkpoint.lastOrder)
        fold(events, key, from: start, typeIndex, items, into: &output)
    }

    package override func foldMore(
        key: Tag, stored: StoredKey?, events: [EventReference], typeIndex: [Int16],
        items: any ItemStore, into output: inout KeyOutput
    ) throws -> Bool {
        if stored?.isFrozen == true { return false }
        let before = try stored.map { try decode($0) }
        var keyed = KeyedState<P.State>(key: key, state: before ?? P.State(), items: items)
        var count = stored?.count ?? 0
        var last = stored?.lastOrder ?? .start
        var position: UInt64 = 0
        for event in events {
            guard let index = wanted(event, typeIndex) else { continue }
            if law == .canonical, count > 0, event.order <= last {
                if event.order < last { return false }
                // Another origin observed the same fact. To decide which of the two observations to
                // use, the fold needs data that is not stored, unless both observations are in this
                // batch.
                if position == 0 { return false }
                continue
            }
            // An event that has the key twice among its tags is listed twice.
            if event.record.position == position { continue }
            do { try fold(event, index, &keyed) } catch { return false }
            if keyed.wantsRefold { return false }
            count += 1
            last = event.order
            position = event.record.position
            checkpoint(keyed, count, last, into: &output)
        }
        guard position > 0 || stored != nil else { return true }
        let start = write(
            keyed.state, count: count, order: last, isFrozen: false, into: &output.stored)
        if tables.isEmpty { return true }
        if let before, let stored {
            let isSame = output.stored.bytes.withUnsafeBytes {
                UnsafeRawBufferPointer(rebasing: $0[start...]).holdsSame(as: stored.state)
            }
            if isSame { return true }
            projection.rows(of: before, key: key, into: &output.rowsBefore)
        }
        projection.rows(of: keyed.state, key: key, into: &output.rows)
        return true
    }

    package override func rows(key: Tag, stored: StoredKey, into rows: inout RowSink) throws {
        projection.rows(of: try decode(stored), key: key, into: &rows)
        rows.keepLast()
    }

    package override func fields(of stored: StoredKey) throws -> [StateField] {
        StateField.all(of: try decode(stored))
    }

    package override func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        do {
            try projection.rows(ofItem: item, key: key, into: &rows)
        } catch {
            throw StoredRowError(cause: error)
        }
    }

    // MARK: - Folding

    /// The starting point of a fold: an empty state or an in-key checkpoint.
    private struct Start {
        var state: P.State
        var count: UInt64 = 0
        var order = FoldOrder.start
    }

    private func fold(
        _ events: [EventReference], _ key: Tag, from start: Start, _ typeIndex: [Int16],
        _ items: any ItemStore, into output: inout KeyOutput
    ) {
        var keyed = KeyedState<P.State>(key: key, state: start.state, items: items)
        var count = start.count
        var last = start.order
        let refused = run(events[...], &keyed, &count, &last, typeIndex, into: &output)
        if let (place, reason) = refused {
            // The fold rejected an event and may have left partial work, so start again and fold
            // only the events before the rejected one.
            items.clear()
            output.checkpoints.removeAll(keepingCapacity: true)
            keyed = KeyedState<P.State>(key: key, state: start.state, items: items)
            count = start.count
            last = start.order
            _ = run(events[..<place], &keyed, &count, &last, typeIndex, into: &output)
            output.poison = (events[place].id, events[place].record.position, reason)
        }
        guard count > 0 || refused != nil else { return }
        finish(keyed, count: count, order: last, isFrozen: refused != nil, into: &output)
    }

    /// Folds events in canonical order; stops at the first rejected event and returns the reason.
    @inline(__always)
    private func run(
        _ events: ArraySlice<EventReference>, _ keyed: inout KeyedState<P.State>,
        _ count: inout UInt64, _ last: inout FoldOrder, _ typeIndex: [Int16],
        into output: inout KeyOutput
    ) -> (place: Int, reason: String)? {
        let foldsEqualOnce = law == .canonical
        var position: UInt64 = 0
        for place in events.indices {
            // Prefetch records: if a key has many events, its first records have left the CPU cache
            // by the time its last one has been found.
            if place + Self.fetchedAhead < events.endIndex {
                events[place + Self.fetchedAhead].record.fetch()
            }
            guard let index = wanted(events[place], typeIndex) else { continue }
            if foldsEqualOnce {
                if count > 0, events[place].order == last { continue }
            } else if events[place].record.position == position {
                // An event that has the key twice among its tags is listed twice.
                continue
            }
            do {
                try fold(events[place], index, &keyed)
            } catch {
                return (place, String(describing: error))
            }
            count += 1
            last = events[place].order
            position = events[place].record.position
            checkpoint(keyed, count, last, into: &output)
        }
        return nil
    }

    @inline(__always)
    private func wanted(_ event: EventReference, _ typeIndex: [Int16]) -> Int? {
        let index = typeIndex[Int(event.record.type)]
        guard index >= 0, knows(event.record.schemaVersion, index),
            event.record.encoding == .plain
        else { return nil }
        return Int(index)
    }

    @inline(__always)
    private func fold(
        _ event: EventReference, _ index: Int, _ keyed: inout KeyedState<P.State>
    ) throws {
        if let payload = try upcasted(event.record, index) {
            try fold(event, index, newestVersion(index), payload.span.bytes, &keyed)
        } else {
            try fold(
                event, index, event.record.schemaVersion,
                RawSpan(_unsafeBytes: event.record.payload), &keyed)
        }
    }

    @inline(__always)
    private func fold(
        _ event: EventReference, _ index: Int, _ schemaVersion: UInt16, _ payload: RawSpan,
        _ keyed: inout KeyedState<P.State>
    ) throws {
        let view = FoldEvent(
            id: event.id, stamp: event.stamp, typeIndex: index, schemaVersion: schemaVersion,
            fact: event.record.flags.contains(.fact) ? event.record.fact : nil, order: event.order,
            payload: payload)
        try projection.fold(view, into: &keyed)
    }

    @inline(__always)
    private func checkpoint(
        _ keyed: borrowing KeyedState<P.State>, _ count: UInt64, _ order: FoldOrder,
        into output: inout KeyOutput
    ) {
        guard law == .canonical, !keyed.items.isUsed,
            projection.foldsCompacted
                ? order.isOne(of: Self.eventsPerCheckpoint) : count % Self.eventsPerCheckpoint == 0
        else { return }
        var row = StateWriter()
        write(keyed.state, count: count, order: order, isFrozen: false, into: &row)
        output.checkpoints.append((order, row.bytes))
    }

    @inline(__always)
    private func finish(
        _ keyed: borrowing KeyedState<P.State>, count: UInt64, order: FoldOrder, isFrozen: Bool,
        into output: inout KeyOutput
    ) {
        write(keyed.state, count: count, order: order, isFrozen: isFrozen, into: &output.stored)
        projection.rows(of: keyed.state, key: keyed.key, into: &output.rows)
        output.rows.keepLast()
    }

    /// Writes the row of a key; returns the offset of the state in the row.
    @inline(__always)
    @discardableResult
    private func write(
        _ state: P.State, count: UInt64, order: FoldOrder, isFrozen: Bool,
        into writer: inout StateWriter
    ) -> Int {
        writer.bytes.append(isFrozen ? StoredKey.frozenFlag : 0)
        if law == .canonical {
            writer.add(projection.foldsCompacted ? min(count, 1) : count)
            writer.add(order)
        }
        let start = writer.bytes.count
        state.encode(into: &writer)
        return start
    }

    private func decode(_ stored: StoredKey) throws -> P.State {
        var reader = StateReader(stored.state)
        do { return try P.State(decoding: &reader) } catch { throw StoredRowError(cause: error) }
    }
}
