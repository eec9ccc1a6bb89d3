internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

extension ProjectionRunner {
    /// Reads projections after folding all events appended before the call.
    ///
    /// - Parameters:
    ///   - projections: The names of the projections that `body` reads; nil for all that the store
    ///     maintains. Projections without tables are built first, which takes time in a large store;
    ///     see `prepare`.
    ///   - body: Reads the data; it must return soon and must not call `read`.
    ///
    /// Takes a few microseconds if there is nothing to fold. Throws `ProjectionError` and
    /// `LogError`.
    @available(*, noasync)
    public func read<R>(_ projections: [String]? = nil, _ body: (Views) throws -> R) throws -> R {
        try read(projections, recorder: nil, follower: nil, body)
    }

    /// Builds the missing tables of some projections, as a read would, and reports the progress.
    ///
    /// Waits for a build in progress. Takes a few microseconds if nothing is missing. Throws
    /// `ProjectionError` and `LogError`, and `CancellationError` if the options request
    /// cancellation.
    ///
    /// - Parameter names: The projections to build; nil for all that the store maintains.
    @available(*, noasync)
    public func prepare(
        _ names: [String]? = nil, options: RebuildOptions = RebuildOptions()
    ) throws {
        try ProjectionError.naming { try openFiles(drivers(named: names), options) }
    }

    /// - Parameters:
    ///   - recorder: Notes what `body` reads, and the checkpoint of the result.
    ///   - follower: Collects the changed rows.
    ///   - options: The options for projections that must be rebuilt first.
    func read<R>(
        _ projections: [String]?, recorder: ReadRecorder? = nil, follower: DiffFollower? = nil,
        options: RebuildOptions = RebuildOptions(), _ body: (Views) throws -> R
    ) throws -> R {
        let wanted = try drivers(named: projections)
        return try ProjectionError.naming {
            log.settleBuffered()
            var due = try due()
            let scope = ViewsScope(log.origin, recorder)
            while true {
                recorder?.beginAgain()
                follower?.begin()
                if let groups = try serving(wanted),
                    let read = try read(groups[...], as: due, [:], scope, follower, body)
                {
                    return read
                }
                try catchUp(wanted, options)
                due = try stillDue(due)
            }
        }
    }

    /// Runs `body` in nested transactions on all files, opened in the order of the file numbers.
    ///
    /// Returns nil if a file is not up to date, for example because the runner has just switched to
    /// it.
    private func read<R>(
        _ groups: ArraySlice<(file: ViewsFile, drivers: [ProjectionDriver])>,
        as due: ProjectionCheckpoint,
        _ sources: [Digest16: (tables: ViewsFile.Tables, transaction: TransactionAlias)],
        _ scope: ViewsScope, _ follower: DiffFollower?, _ body: (Views) throws -> R
    ) throws -> R? {
        guard let (file, drivers) = groups.first else {
            defer { scope.end() }
            return try body(Views(sources, scope))
        }
        return try file.environment.read { transaction in
            var (sources, reached) = (sources, [Digest16: ProjectionCheckpoint]())
            for driver in drivers {
                let checkpoint = try file.checkpoint(driver.fingerprint, transaction)
                guard let checkpoint, try self.serves(checkpoint, due),
                    let tables = file.tables[driver.fingerprint]
                else { return nil }
                scope.recorder?.reach(checkpoint)
                reached[driver.fingerprint] = checkpoint
                sources[driver.fingerprint] = (tables, transaction.alias)
            }
            try follower?.take(file, reached, transaction)
            return try self.read(groups.dropFirst(), as: due, sources, scope, follower, body)
        }
    }

    /// Returns the drivers with the given names; nil for all that the store maintains.
    func drivers(named names: [String]?) throws -> [ProjectionDriver] {
        guard let names else { return try keptDrivers() }
        for name in names where !drivers.contains(where: { $0.name == name }) {
            throw ProjectionError(
                .notFound, "there is no projection \(name)",
                hint: "known projections: " + drivers.map(\.name).sorted().joined(separator: ", "),
                projection: name)
        }
        return drivers.filter { names.contains($0.name) }
    }

    /// Returns all drivers except unused on-demand ones.
    func keptDrivers() throws -> [ProjectionDriver] {
        try drivers.filter { try !$0.isOnDemand || log.viewsEntry($0.fingerprint) != nil }
    }
}
