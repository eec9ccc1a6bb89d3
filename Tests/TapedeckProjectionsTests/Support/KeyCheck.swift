import TapedeckLMDB
import TapedeckLog
import TapedeckModel
import Testing

@testable import TapedeckProjections

/// Compares results for single keys with replays of entire projections into scratch files.
struct KeyCheck {
    let log: EventLog
    let projections: [any Projection]
    let note: String

    /// The result of replaying a projection.
    private struct Replayed {
        /// The state of each key, without the number of folded events and the last event.
        var states: [TapedeckModel.Tag: [UInt8]] = [:]
        var items: [TapedeckModel.Tag: [Row]] = [:]
        var rows: [Row] = []
    }

    /// Checks, at each point in the history, that folding a key alone gives the same result as
    /// replaying everything.
    ///
    /// - Returns: The names of the projections that had keys.
    @discardableResult
    func checkKeysFoldedAlone(asOf points: [HistoryPoint?]) throws -> Set<String> {
        var met: Set<String> = []
        for projection in projections {
            let keys = try replay(projection, nil).states.keys
            if !keys.isEmpty { met.insert(projection.name) }
            for point in points {
                let whole = try replay(projection, point)
                var rows: [Row] = []
                for key in keys {
                    let folded = try fold(projection, key, point)
                    let place =
                        "\(projection.name) \(key) as of \(String(describing: point)), \(note)"
                    #expect(folded.state == whole.states[key], "\(place)")
                    #expect(folded.items == whole.items[key] ?? [], "\(place)")
                    rows += folded.rows
                }
                rows.sort { $0.key.lexicographicallyPrecedes($1.key) }
                #expect(rows == whole.rows, "\(projection.name), \(note)")
            }
        }
        return met
    }

    /// Checks that views that fold keys on demand return the same results as views that read the
    /// tables.
    func checkViewsReadAlike(
        asOf point: HistoryPoint?, rounds: Int, _ random: inout some RandomNumberGenerator
    ) throws {
        for projection in projections {
            let whole = try replay(projection, point)
            guard !whole.states.isEmpty else { continue }
            let runner = ProjectionRunner(log, projections: [projection])
            defer { runner.close() }
            let driver = try #require(runner.drivers.first)
            let folds = KeyFolds(try KeyFolder(log, [driver], point?.limit(in: log) ?? .none))
            let folded = Views(folds, ViewsScope())
            let rebuild = Rebuild(
                log, [driver], workers: 1, limit: try point?.limit(in: log) ?? .none)
            try runner.inScratch([driver], rebuild) { file, _ in
                let tables = try #require(file.tables[driver.fingerprint])
                try file.environment.read { transaction in
                    let read = Views(
                        [driver.fingerprint: (tables, transaction.alias)], ViewsScope())
                    for _ in 0..<rounds {
                        let left = try ask(read, projection, whole, random)
                        #expect(
                            try left == ask(folded, projection, whole, random),
                            "\(projection.name), \(note)")
                        _ = random.next()
                    }
                }
            }
            #expect(!folds.isExceeded)
        }
    }

    /// Reads random parts of the rows and of a key's items; the same random source gives the same
    /// parts.
    private func ask(
        _ views: Views, _ projection: any Projection, _ whole: Replayed,
        _ source: some RandomNumberGenerator
    ) throws -> [[Row]] {
        var random = source
        func bound(_ keys: [[UInt8]]) -> [UInt8]? {
            Int.random(in: 0..<3, using: &random) == 0 ? nil : keys.randomElement(using: &random)
        }
        var found: [[Row]] = []
        let limit = Int.random(in: 1...6, using: &random)
        for table in projection.tables.indices {
            let keys = whole.rows.map(\.key).filter { $0.first == UInt8(table) }
                .map { Array($0.dropFirst()) }
            let (lower, upper) = (bound(keys).map { RowKey($0) }, bound(keys).map { RowKey($0) })
            let place = bound(keys)
            found.append(
                try views.rows(
                    of: projection, table: table, lower: lower, upper: upper, after: place,
                    limit: limit))
            found.append(
                try views.rows(
                    of: projection, table: table, lower: lower, upper: upper, before: place,
                    limit: limit))
        }
        guard let key = whole.states.keys.sorted().randomElement(using: &random) else {
            return found
        }
        let names = (whole.items[key] ?? []).map(\.key)
        let prefix = RowKey(
            Array((bound(names) ?? []).prefix(Int.random(in: 0...3, using: &random))))
        found.append(
            try views.items(
                of: projection, key: key, prefix: prefix, after: bound(names), limit: limit))
        if let name = names.randomElement(using: &random) {
            let value = try views.item(of: projection, key: key, name: RowKey(name))
            found.append([Row(key: name, value: value ?? [])])
        }
        return found
    }

    /// Checks the roles that `explain` reports, by replaying the history without the events
    /// concerned.
    ///
    /// - Returns: The number of events with each role.
    @discardableResult
    func checkExplanations(
        keysPerProjection: Int, eventsPerRole: Int, _ random: inout some RandomNumberGenerator
    ) throws -> [EventRole: Int] {
        var met: [EventRole: Int] = [:]
        for projection in projections {
            // Check one projection at a time, because projections that differ only in their
            // parameters have the same name.
            let runner = ProjectionRunner(log, projections: [projection])
            defer { runner.close() }
            let whole = try replay(projection, nil)
            let keys = whole.states.keys.sorted().shuffled(using: &random)
            for key in keys.prefix(keysPerProjection) {
                let told = try runner.explain(projection.name, key: key)
                func positions(_ roles: EventRole...) -> [UInt64] {
                    told.events.filter { roles.contains($0.role) }.map(\.position)
                        .shuffled(using: &random)
                }
                func changes(without excluded: [UInt64]) throws -> Bool {
                    let other = try replay(projection, nil, excluded: Set(excluded))
                    return other.states[key] != whole.states[key]
                        || other.items[key] ?? [] != whole.items[key] ?? []
                }
                let place = "\(projection.name) \(key), \(note)"
                for event in positions(.deciding).prefix(eventsPerRole) {
                    #expect(try changes(without: [event]), "\(event) does not decide: \(place)")
                }
                for role in [EventRole.supporting, .lost, .refused] {
                    for event in positions(role).prefix(eventsPerRole) {
                        #expect(try !changes(without: [event]), "\(event) decides: \(place)")
                    }
                }
                let (lost, supporting) = (positions(.lost, .refused), positions(.supporting))
                #expect(try lost.isEmpty || !changes(without: lost), "\(place)")
                #expect(
                    try supporting.isEmpty || changes(without: lost + supporting), "\(place)")
                for event in told.events { met[event.role, default: 0] += 1 }
            }
        }
        return met
    }

    // MARK: - Replays and folds

    private func replay(
        _ projection: any Projection, _ point: HistoryPoint?, excluded: Set<UInt64> = []
    ) throws -> Replayed {
        let runner = ProjectionRunner(log, projections: [projection])
        defer { runner.close() }
        let driver = try #require(runner.drivers.first)
        let rebuild = Rebuild(
            log, [driver], workers: 1, limit: try point?.limit(in: log) ?? .none, excluded: excluded
        )
        return try runner.inScratch([driver], rebuild) { file, _ in
            let tables = try #require(file.tables[driver.fingerprint])
            return try file.environment.read { transaction in
                var found = Replayed()
                for row in try rows(tables.states, transaction) {
                    found.states[try tag(row.key)] = try state(row.value, driver)
                }
                for row in try rows(tables.items, transaction) {
                    let count = try #require(ViewKey.count(in: row.key))
                    let key = try tag(Array(row.key[..<count]))
                    found.items[key, default: []].append(
                        Row(key: Array(row.key[count...]), value: row.value))
                }
                found.rows = try rows(tables.rows, transaction)
                return found
            }
        }
    }

    private func fold(
        _ projection: any Projection, _ key: TapedeckModel.Tag, _ point: HistoryPoint?
    ) throws -> (state: [UInt8]?, items: [Row], rows: [Row]) {
        let driver = ProjectionRunner.driver(projection)
        let folder = try KeyFolder(log, [driver], point?.limit(in: log) ?? .none)
        let folded = try log.readNaming { try folder.fold(key, 0, $0) }
        var items: [Row] = []
        folded.items.forEach { items.append(Row(key: Array($0), value: Array($1))) }
        return (
            folded.stored.isEmpty ? nil : try state(folded.stored, driver), items,
            try folded.rows(key, driver)
        )
    }

    /// Returns the tag in a key of a table; the tags of these histories are too short to be
    /// truncated.
    private func tag(_ key: [UInt8]) throws -> TapedeckModel.Tag {
        try TapedeckModel.Tag(String(decoding: key.dropFirst(9), as: UTF8.self))
    }

    private func state(_ bytes: [UInt8], _ driver: ProjectionDriver) throws -> [UInt8] {
        try bytes.withUnsafeBytes { buffer in
            let stored = try StoredKey(buffer, law: driver.law)
            return [UInt8(stored.isFrozen ? 1 : 0)] + Array(stored.state)
        }
    }

    private func rows(
        _ table: Table, _ transaction: borrowing ReadTransaction
    ) throws -> [Row] {
        let cursor = try transaction.cursor(table)
        var found: [Row] = []
        var entry = try cursor.first()
        while let row = entry {
            found.append(Row(key: Array(row.key), value: Array(row.value)))
            entry = try cursor.next()
        }
        return found
    }
}
