internal import TapedeckLMDB
internal import TapedeckLog
@_spi(Core) internal import TapedeckModel

/// The result of folding the keys of a batch.
struct LiveChanges: Sendable {
    /// The changes to each driver's projection; nil if nothing has changed.
    var projections: [ProjectionChanges?]
    var diffs = DiffBatch()

    init(_ routing: Routing) { projections = routing.drivers.map { _ in nil } }
}

/// Folds the keys of a batch, one by one, into their stored state in a views file.
///
/// A folder is used by one thread. A folder writes nothing, and nothing else writes in its
/// transaction.
final class LiveFolder {
    private let log: EventLog
    private let file: ViewsFile
    private let routing: Routing
    private let batch: FoldBatch
    private let views: TransactionAlias
    private let items: LiveItems
    // Functions that receive `output` or `changes` never call back into the folder, so exclusivity
    // checks could never fail and would only cost time for every key.
    @exclusivity(unchecked) private var output = KeyOutput()
    @exclusivity(unchecked) private(set) var changes: LiveChanges

    /// - Parameter views: A transaction, which must stay open as long as this object is used.
    init(
        _ log: EventLog, _ file: ViewsFile, _ routing: Routing, _ batch: FoldBatch,
        _ views: TransactionAlias
    ) {
        (self.log, self.file, self.routing, self.batch, self.views) =
            (log, file, routing, batch, views)
        items = LiveItems(views)
        changes = LiveChanges(routing)
    }

    /// A key of a projection, with its events from the batch.
    private struct Key {
        let driver: ProjectionDriver
        let typeIndex: [Int16]
        let tables: ViewsFile.Tables
        let tag: Tag
        let bytes: ViewKey
        let events: [EventReference]

        /// The first event in `events` whose type the projection folds.
        var firstEvent: EventReference? {
            events.first { typeIndex[Int($0.record.type)] >= 0 }
        }
    }

    /// Folds a key for every projection that uses some of the key's events.
    ///
    /// - Parameters:
    ///   - events: The events in canonical order.
    ///   - isDirty: Whether events that were folded earlier now have a different order or are
    ///     ignored.
    func fold(
        _ tag: UnsafeRawBufferPointer, _ events: [EventReference], isDirty: Bool
    ) throws {
        let name = Tag(unchecked: String(decoding: tag, as: UTF8.self))
        let bytes = ViewKey(tag: tag)
        let wanted = routing.drivers(of: events)
        for index in routing.drivers.indices where isDirty || wanted.contains(index) {
            let driver = routing.drivers[index]
            guard Routing.begins(tag, with: driver.tagPrefix) else { continue }
            guard let tables = file.tables[driver.fingerprint] else {
                throw ProjectionError(
                    .internalError, "the views file has no tables for \(driver.name)")
            }
            let key = Key(
                driver: driver, typeIndex: routing.typeIndexes[index], tables: tables, tag: name,
                bytes: bytes, events: events)
            try fold(key, isDirty: isDirty, projection: index)
        }
    }

    private func changes(of projection: Int) -> ProjectionChanges {
        if let known = changes.projections[projection] { return known }
        let fresh = ProjectionChanges()
        changes.projections[projection] = fresh
        return fresh
    }

    private func fold(_ key: Key, isDirty: Bool, projection: Int) throws {
        let before = try views.get(key.tables.states, key.bytes.bytes)
        let stored = try before.map { try StoredKey($0, law: key.driver.law) }
        let wasFrozen = stored?.isFrozen ?? false
        if wasFrozen, !isDirty, try comeBehindPoison(key) { return }
        // A key without a state has no items.
        items.begin(key.tables.items, key.bytes, isNew: before == nil)
        output.removeAll()
        var isDone = false
        if !isDirty {
            isDone = try key.driver.foldMore(
                key: key.tag, stored: stored, events: key.events, typeIndex: key.typeIndex,
                items: items, into: &output)
            try items.check()
        }
        let changes = changes(of: projection)
        if isDone {
            if !output.checkpoints.isEmpty {
                try write(output.checkpoints, behind: checkpointNames(key), key, changes)
            }
        } else {
            output.removeAll()
            try refold(key, isDirty: isDirty, changes)
            try items.check()
            // Add the old rows after the refold, because a refold clears the output when the fold
            // rejects an event.
            if let stored {
                try key.driver.rows(key: key.tag, stored: stored, into: &output.rowsBefore)
            }
        }
        try writeItems(key, changes)
        write(before, wasFrozen: wasFrozen, key, changes)
        output.rowsBefore.sort()
        output.rows.sort()
        self.changes.diffs.add(
            from: output.rowsBefore, to: output.rows, projection: key.driver.fingerprint,
            isFollowed: key.driver.rowsAreFollowed, changes.rows)
    }

    private func write(
        _ before: UnsafeRawBufferPointer?, wasFrozen: Bool, _ key: Key, _ changes: ProjectionChanges
    ) {
        let isSame = output.stored.bytes.withUnsafeBytes { after in
            before.map { $0.holdsSame(as: after) } ?? after.isEmpty
        }
        if !isSame {
            if output.stored.bytes.isEmpty {
                changes.states.remove(key.bytes.bytes)
            } else {
                changes.states.put(key.bytes.bytes, output.stored.bytes)
            }
            if key.driver.statesAreFollowed {
                self.changes.diffs.add(stateOf: key.bytes, projection: key.driver.fingerprint)
            }
        }
        if let poison = output.poison {
            let frozen = FrozenKey(
                projection: key.driver.name, key: key.tag.text, event: poison.id.description,
                position: poison.position, reason: poison.reason)
            changes.extra.put(ExtraKey.frozen(key.bytes), frozen.encoded())
        } else if wasFrozen {
            changes.extra.remove(ExtraKey.frozen(key.bytes))
        }
    }

    /// Writes the changed items, and adds the rows of their old and new values to the output.
    private func writeItems(_ key: Key, _ changes: ProjectionChanges) throws {
        let driver = key.driver
        try items.forEachChange { name, before, after in
            key.bytes.bytes.withUnsafeBytes { owner in
                if let after {
                    changes.items.put(owner, name, after)
                } else {
                    changes.items.remove(owner, name)
                }
            }
            if !self.changes.diffs.isReset,
                driver.followedItems.contains(where: name.starts(with:))
            {
                self.changes.diffs.add(
                    itemOf: key.bytes, Array(name), from: before.map { Array($0) },
                    to: after.map { Array($0) }, projection: driver.fingerprint)
            }
            guard driver.itemsYieldRows else { return }
            if let before {
                try driver.rows(
                    ofItem: Row(key: Array(name), value: Array(before)), key: key.tag,
                    into: &output.rowsBefore)
            }
            if let after {
                try driver.rows(
                    ofItem: Row(key: Array(name), value: Array(after)), key: key.tag,
                    into: &output.rows)
            }
        }
    }

    /// Returns whether all events come after the event that froze the key, and therefore have no
    /// effect.
    private func comeBehindPoison(_ key: Key) throws -> Bool {
        guard let first = key.firstEvent,
            let row = try views.get(key.tables.extra, ExtraKey.frozen(key.bytes)),
            let position = FrozenKey(decoding: row)?.position
        else { return false }
        return try log.readNaming { records in
            guard let bytes = try records.get(self.log.recordTable, integer: position) else {
                return false
            }
            let record = try self.log.record(bytes, at: position)
            try self.routing.check(record)
            guard let poison = self.batch.admission.admit(record) else { return false }
            return EventReference.precedes(poison, first)
        }
    }

    /// Folds the key again from the last in-key checkpoint before the first event of the batch, or
    /// from the start if there is none.
    private func refold(_ key: Key, isDirty: Bool, _ changes: ProjectionChanges) throws {
        let names = try checkpointNames(key)
        var base: (order: FoldOrder, row: UnsafeRawBufferPointer)?
        if !isDirty, key.driver.law == .canonical, !items.isUsed, let late = key.firstEvent {
            base = try lastCheckpoint(before: late.order, key)
        }
        try items.check()
        items.begin(fromNothing: base == nil)
        try log.readNaming { records in
            var all: [EventReference] = []
            try self.log.forEachRecord(
                tagged: key.tag, through: self.batch.reached.position, records
            ) { record in
                try self.routing.check(record)
                guard key.typeIndex[Int(record.type)] >= 0,
                    let event = self.batch.admission.admit(record)
                else { return }
                all.append(event)
            }
            all.sortCanonically()
            guard let base else {
                key.driver.foldAll(
                    key: key.tag, events: all, typeIndex: key.typeIndex, items: self.items,
                    into: &self.output)
                return
            }
            try key.driver.foldOn(
                key: key.tag, from: try StoredKey(base.row, law: key.driver.law),
                events: all.filter { base.order < $0.order }, typeIndex: key.typeIndex,
                items: self.items, into: &self.output)
        }
        let last = base.map { ExtraKey.checkpoint(key.bytes, $0.order) } ?? []
        let kept = names.prefix { !last.lexicographicallyPrecedes($0) }
        for name in names[kept.count...] { changes.extra.remove(name) }
        try write(output.checkpoints, behind: Array(kept), key, changes)
    }

    // MARK: - In-key checkpoints

    /// Adds new checkpoints, which are later than the existing ones, and then removes all but the
    /// most recent checkpoints.
    private func write(
        _ fresh: [(order: FoldOrder, row: [UInt8])], behind held: [[UInt8]], _ key: Key,
        _ changes: ProjectionChanges
    ) throws {
        let fresh = fresh.suffix(Rebuild.checkpointsPerKeyMax)
        for name in held.dropLast(Rebuild.checkpointsPerKeyMax - fresh.count) {
            changes.extra.remove(name)
        }
        for (order, row) in fresh {
            changes.extra.put(ExtraKey.checkpoint(key.bytes, order), row)
        }
    }

    private func lastCheckpoint(
        before order: FoldOrder, _ key: Key
    ) throws -> (order: FoldOrder, row: UnsafeRawBufferPointer)? {
        let prefix = ExtraKey.checkpoints(key.bytes)
        let cursor = try views.cursor(key.tables.extra)
        guard let found = try cursor.lastBelow(ExtraKey.checkpoint(key.bytes, order)),
            found.key.starts(with: prefix),
            found.key.count == prefix.count + FoldOrder.encodedCount
        else { return nil }
        let held = FoldOrder(
            decoding: UnsafeRawBufferPointer(rebasing: found.key[prefix.count...]))
        return (held, found.value)
    }

    private func checkpointNames(_ key: Key) throws -> [[UInt8]] {
        let prefix = ExtraKey.checkpoints(key.bytes)
        let cursor = try views.cursor(key.tables.extra)
        var names: [[UInt8]] = []
        var entry = try cursor.seek(prefix)
        while let found = entry, found.key.starts(with: prefix) {
            names.append(Array(found.key))
            entry = try cursor.next()
        }
        return names
    }
}
