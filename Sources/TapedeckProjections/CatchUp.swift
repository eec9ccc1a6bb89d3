internal import TapedeckLMDB
internal import TapedeckLog
@_spi(Core) internal import TapedeckModel

/// Folds the events behind a checkpoint into live tables: one batch, in one transaction.
struct CatchUp {
    /// Events folded in one transaction of a views file.
    static let eventsPerBatchMax: UInt64 = 2_048
    /// Changed stamps taken in by one transaction of a views file.
    static let overridesPerBatchMax = 2_048

    let log: EventLog
    let file: ViewsFile
    let routing: Routing
    let admission: EventAdmission

    init(_ log: EventLog, _ file: ViewsFile, _ routing: Routing, _ overrides: OverrideTable) {
        self.log = log
        self.file = file
        self.routing = routing
        admission = EventAdmission(overrides, origins: routing.origins)
    }

    /// What one batch did.
    struct Result {
        var reached: ProjectionCheckpoint
        var diffs = DiffBatch()
    }

    /// Folds up to `eventsPerBatchMax` events behind `from` into the drivers' tables.
    ///
    /// - Parameter through: the last position of which `routing` knows the type and origin.
    func run(
        from: ProjectionCheckpoint, through: UInt64, _ records: borrowing ReadTransaction,
        _ views: borrowing WriteTransaction
    ) throws -> Result {
        guard try log.checksum(at: from.position, records) == from.checksum else {
            throw ReplacedLog(file: file)
        }
        var groups: [[UInt8]: Int] = [:]
        var keys: [(tag: [UInt8], events: [EventReference], isDirty: Bool)] = []
        func group(_ tag: UnsafeRawBufferPointer) -> Int {
            let name = Array(tag)
            if let index = groups[name] { return index }
            groups[name] = keys.count
            keys.append((name, [], false))
            return keys.count - 1
        }

        // Events behind the checkpoint whose place or fate has changed since: their keys start anew.
        let (changed, lastChange) = try log.overrides(
            records, changedAfter: from.overrides, limit: CatchUp.overridesPerBatchMax)
        for row in changed where row.position <= from.position {
            guard let bytes = try records.get(log.recordTable, integer: row.position) else {
                continue
            }
            let record = try log.record(bytes, at: row.position)
            routing.forEachKey(of: record) { keys[group($0)].isDirty = true }
        }
        let end = try log.endOfRecord(
            at: max(from.position, min(from.position + CatchUp.eventsPerBatchMax, through)), records
        )
        let reached = try log.scan(records, after: from.position, through: end) { record in
            guard let event = admission.admit(record) else { return }
            routing.forEachKey(of: record) { keys[group($0)].events.append(event) }
        }

        guard let checksum = try log.checksum(at: reached, records) else {
            throw ReplacedLog(file: file)
        }
        let history = try log.historyMark(through: reached, change: lastChange, records)
        var result = Result(
            reached: ProjectionCheckpoint(
                position: reached, overrides: lastChange, checksum: checksum))
        for key in keys {
            let events = key.events.sorted(by: EventReference.precedes)
            let tag = Tag(unchecked: String(decoding: key.tag, as: UTF8.self))
            for (index, driver) in routing.drivers.enumerated()
            where key.tag.starts(with: driver.tagPrefix) {
                let types = routing.typeIndexes[index]
                let wanted = events.filter { types[Int($0.record.type)] >= 0 }
                guard !wanted.isEmpty || key.isDirty else { continue }
                try KeyFold(
                    catchUp: self, driver: driver, typeIndex: types, tag: tag, through: reached
                ).run(wanted, isDirty: key.isDirty, records, views, &result.diffs)
            }
        }
        for driver in routing.drivers {
            try views.put(
                file.meta, ProjectionCheckpoint.key(driver.fingerprint),
                result.reached.encoded(history))
        }
        return result
    }
}

/// One key of one projection in a batch.
private struct KeyFold {
    let catchUp: CatchUp
    let driver: ProjectionDriver
    let typeIndex: [Int16]
    let tag: Tag
    let through: UInt64

    func run(
        _ events: [EventReference], isDirty: Bool, _ records: borrowing ReadTransaction,
        _ views: borrowing WriteTransaction, _ diffs: inout DiffBatch
    ) throws {
        guard let tables = catchUp.file.tables[driver.fingerprint] else {
            throw ProjectionError(.internalError, "the views file lacks \(driver.name)")
        }
        let viewKey = ViewKey(tag)
        let before = try views.get(tables.states, viewKey.bytes).map { Array($0) }
        if !isDirty, before.map(StoredKey.isFrozen) == true,
            try comeBehindPoison(events, tables, viewKey, records, views)
        {
            return
        }
        let items = LiveItems(
            views.alias, tables.items, viewKey, law: driver.law,
            remembers: driver.itemsYieldRows || !driver.followedItems.isEmpty)

        var oldRows = RowSink()
        var output = KeyOutput()
        var isDone = false
        try (before ?? []).withUnsafeBytes { bytes in
            let stored = before == nil ? nil : try StoredKey(bytes, law: driver.law)
            if let stored { try driver.rows(key: tag, stored: stored, into: &oldRows) }
            if !isDirty {
                isDone = try driver.foldMore(
                    key: tag, stored: stored, events: events, typeIndex: typeIndex, items: items,
                    into: &output)
            }
        }
        // First of all, since a transaction in which something failed says other things afterwards.
        if let failure = items.failure { throw failure }
        if !isDone {
            try items.rollBack()
            output.removeAll()
            try refold(
                from: isDirty ? nil : events.first?.order, items, tables, viewKey, records, views,
                &output)
        }
        for (name, before, after) in items.changes() {
            if driver.followedItems.contains(where: name.starts(with:)) {
                diffs.add(
                    itemOf: viewKey, name, from: before, to: after, projection: driver.fingerprint)
            }
            guard driver.itemsYieldRows else { continue }
            if let before {
                try driver.rows(ofItem: Row(key: name, value: before), key: tag, into: &oldRows)
            }
            if let after {
                try driver.rows(ofItem: Row(key: name, value: after), key: tag, into: &output.rows)
            }
        }
        if let failure = items.failure { throw failure }
        try write(output, before, tables, viewKey, views)
        if driver.statesAreFollowed, output.stored.bytes != before ?? [] {
            diffs.add(stateOf: viewKey, projection: driver.fingerprint)
        }
        guard driver.rowsAreFollowed else {
            var untold = DiffBatch()
            return try write(output.rows, over: oldRows, tables, views, &untold)
        }
        try write(output.rows, over: oldRows, tables, views, &diffs)
    }

    private func write(
        _ rows: borrowing RowSink, over old: borrowing RowSink, _ tables: ViewsFile.Tables,
        _ views: borrowing WriteTransaction, _ diffs: inout DiffBatch
    ) throws {
        try diffs.add(from: old, to: rows, projection: driver.fingerprint) { table, row in
            try views.put(tables.rows, [UInt8(table)] + row.key, row.value)
        } _: { table, key in
            try views.delete(tables.rows, [UInt8(table)] + key)
        }
    }

    /// Whether all events have their place behind the one that froze the key: nothing comes of them.
    private func comeBehindPoison(
        _ events: [EventReference], _ tables: ViewsFile.Tables, _ viewKey: ViewKey,
        _ records: borrowing ReadTransaction, _ views: borrowing WriteTransaction
    ) throws -> Bool {
        guard let first = events.first,
            let row = try views.get(tables.extra, ExtraKey.frozen(viewKey)),
            let position = FrozenKey(decoding: row)?.position,
            let bytes = try records.get(catchUp.log.recordTable, integer: position),
            let poison = catchUp.admission.admit(try catchUp.log.record(bytes, at: position))
        else { return false }
        return EventReference.precedes(poison, first)
    }

    /// Folds the key again, from the last in-key checkpoint before `late` or from nothing.
    private func refold(
        from late: FoldOrder?, _ items: LiveItems, _ tables: ViewsFile.Tables, _ viewKey: ViewKey,
        _ records: borrowing ReadTransaction, _ views: borrowing WriteTransaction,
        _ output: inout KeyOutput
    ) throws {
        var all: [EventReference] = []
        try catchUp.log.forEachRecord(tagged: tag, through: through, records) { record in
            guard typeIndex[Int(record.type)] >= 0, let event = catchUp.admission.admit(record)
            else { return }
            all.append(event)
        }
        all.sortCanonically()

        var checkpoint: (order: FoldOrder, row: [UInt8])?
        if let late, !items.isUsed, driver.law == .canonical {
            checkpoint = try lastCheckpoint(before: late, tables, viewKey, views)
        }
        try removeCheckpoints(after: checkpoint?.order, tables, viewKey, views)
        guard let checkpoint else {
            try items.removeAll()
            driver.foldAll(
                key: tag, events: all, typeIndex: typeIndex, items: items, into: &output)
            return
        }
        let rest = all.filter { checkpoint.order < $0.order }
        try checkpoint.row.withUnsafeBytes { bytes in
            try driver.foldOn(
                key: tag, from: try StoredKey(bytes, law: driver.law), events: rest,
                typeIndex: typeIndex, items: items, into: &output)
        }
    }

    private func write(
        _ output: borrowing KeyOutput, _ before: [UInt8]?, _ tables: ViewsFile.Tables,
        _ viewKey: ViewKey, _ views: borrowing WriteTransaction
    ) throws {
        if output.stored.bytes.isEmpty {
            if before != nil { try views.delete(tables.states, viewKey.bytes) }
        } else if output.stored.bytes != before {
            try views.put(tables.states, viewKey.bytes, output.stored.bytes)
        }
        for (order, row) in output.checkpoints {
            try views.put(tables.extra, ExtraKey.checkpoint(viewKey, order), row)
        }
        if !output.checkpoints.isEmpty { try pruneCheckpoints(tables, viewKey, views) }
        if let poison = output.poison {
            let frozen = FrozenKey(
                projection: driver.name, key: tag.text, event: poison.id.description,
                position: poison.position, reason: poison.reason)
            try views.put(tables.extra, ExtraKey.frozen(viewKey), frozen.encoded())
        } else if before.map(StoredKey.isFrozen) == true {
            try views.delete(tables.extra, ExtraKey.frozen(viewKey))
        }
    }

    // MARK: - In-key checkpoints

    private func lastCheckpoint(
        before order: FoldOrder, _ tables: ViewsFile.Tables, _ viewKey: ViewKey,
        _ views: borrowing WriteTransaction
    ) throws -> (order: FoldOrder, row: [UInt8])? {
        let prefix = ExtraKey.checkpoints(viewKey)
        let cursor = try views.cursor(tables.extra)
        guard let found = try cursor.lastBelow(ExtraKey.checkpoint(viewKey, order)),
            found.key.starts(with: prefix),
            found.key.count == prefix.count + FoldOrder.encodedCount
        else { return nil }
        let held = FoldOrder(
            decoding: UnsafeRawBufferPointer(rebasing: found.key[prefix.count...]))
        return (held, Array(found.value))
    }

    private func checkpointNames(
        _ tables: ViewsFile.Tables, _ viewKey: ViewKey, _ views: borrowing WriteTransaction
    ) throws -> [[UInt8]] {
        let prefix = ExtraKey.checkpoints(viewKey)
        let cursor = try views.cursor(tables.extra)
        var names: [[UInt8]] = []
        var entry = try cursor.seek(prefix)
        while let found = entry, found.key.starts(with: prefix) {
            names.append(Array(found.key))
            entry = try cursor.next()
        }
        return names
    }

    private func removeCheckpoints(
        after order: FoldOrder?, _ tables: ViewsFile.Tables, _ viewKey: ViewKey,
        _ views: borrowing WriteTransaction
    ) throws {
        let kept = order.map { ExtraKey.checkpoint(viewKey, $0) } ?? []
        for name in try checkpointNames(tables, viewKey, views)
        where kept.lexicographicallyPrecedes(name) {
            try views.delete(tables.extra, name)
        }
    }

    private func pruneCheckpoints(
        _ tables: ViewsFile.Tables, _ viewKey: ViewKey, _ views: borrowing WriteTransaction
    ) throws {
        let names = try checkpointNames(tables, viewKey, views)
        for name in names.dropLast(Rebuild.checkpointsPerKeyMax) {
            try views.delete(tables.extra, name)
        }
    }
}
