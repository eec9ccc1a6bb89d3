internal import Tapedeck

/// How the commands of `storectl do` are run: as an app runs them, by `store.decide`.
extension StoreOptions {
    /// Records what is decided of some projections, unless what was read has changed meanwhile, and prints it.
    ///
    /// - Parameter wanted: the projections that `decision` reads.
    func decide(
        _ wanted: [any Projection],
        _ decision: @escaping @Sendable (VideoQueries<Views>) throws -> [any Event]
    ) async throws {
        try await decide(wanted) { store in
            try await store.decide(reading: wanted.map(\.name)) { try decision(VideoQueries($0)) }
        }
    }

    /// The same of what is decided of the state of one key.
    func decide<P: Projection>(
        _ projection: P, key: Tag,
        _ decision: @escaping @Sendable (P.State) throws -> [any Event]
    ) async throws {
        try await decide([projection]) { try await $0.decide(projection, key: key, decision) }
    }

    private func decide(
        _ wanted: [any Projection], _ body: (TapedeckStore) async throws -> AppendedEvents?
    ) async throws {
        let store = try openStore()
        defer { store.close() }
        try ProgressMeter.building(wanted, of: store)
        var report = AppendReport()
        if let appended = try await body(store) { report.add(appended) }
        try print(report.recordedJSON) { report.write(&$0) }
    }
}
