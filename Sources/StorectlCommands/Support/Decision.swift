internal import Tapedeck

/// Runs the commands of `storectl do` through `store.decide`, as an app does.
extension StoreOptions {
    /// Records the events that `decision` returns and prints a report.
    ///
    /// `store.decide` runs `decision` again if the projections that it reads change before the
    /// events are recorded.
    ///
    /// - Parameter wanted: The projections that `decision` reads.
    func decide(
        _ wanted: [any Projection],
        _ decision: @escaping @Sendable (VideoQueries<Views>) throws -> [any Event]
    ) async throws {
        try await decide(wanted) { store in
            try await store.decide(reading: wanted.map(\.name)) { try decision(VideoQueries($0)) }
        }
    }

    /// Records the events that `decision` returns for the state of one key and prints a report.
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
        try print(report.recordedJSON) { text in
            guard report.recorded > 0 else {
                return text.line(
                    "nothing had to be recorded: the state already matches the request")
            }
            report.write(&text)
        }
    }
}
