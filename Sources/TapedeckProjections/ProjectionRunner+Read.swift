internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

extension ProjectionRunner {
    /// Reads projections as of now: everything appended before the call is folded first.
    ///
    /// - Parameters:
    ///   - projections: the names that `body` reads; nil for all that the store keeps. A projection without
    ///     tables is built first, which takes time in a large store; see `prepare`.
    ///   - body: reads what it needs and returns soon; it must not call `read` itself.
    ///
    /// Costs a few microseconds when nothing has to be folded. Throws `ProjectionError` and `LogError`.
    @available(*, noasync)
    public func read<R>(_ projections: [String]? = nil, _ body: (Views) throws -> R) throws -> R {
        try read(projections, recorder: nil, follower: nil, body)
    }

    /// Builds what has no tables yet of some projections, as a read of them would, and tells how far it is.
    ///
    /// Whoever is building them already is waited for. Costs a few microseconds when nothing is missing.
    /// Throws `ProjectionError` and `LogError`, and `CancellationError` where the options say so.
    ///
    /// - Parameter names: which ones; nil for all that the store keeps.
    @available(*, noasync)
    public func prepare(
        _ names: [String]? = nil, options: RebuildOptions = RebuildOptions()
    ) throws {
        try ProjectionError.naming { try openFiles(drivers(named: names), options) }
    }

    /// - Parameters:
    ///   - recorder: notes what `body` asks, and as of when it is answered.
    ///   - follower: is told which rows have changed.
    ///   - options: of what has to be rebuilt first.
    func read<R>(
        _ projections: [String]?, recorder: ReadRecorder? = nil, follower: DiffFollower? = nil,
        options: RebuildOptions = RebuildOptions(), _ body: (Views) throws -> R
    ) throws -> R {
        let wanted = try drivers(named: projections)
        return try ProjectionError.naming {
            log.settleBuffered()
            var due = try due()
            let scope = ViewsScope(recorder)
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

    /// Opens one transaction inside the other, always in the order of the files' numbers; nil where a
    /// file has not folded what is due, as when it was flipped to in between.
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

    /// Those of some names; where none are named, all that the store keeps.
    func drivers(named names: [String]?) throws -> [ProjectionDriver] {
        guard let names else { return try keptDrivers() }
        for name in names where !drivers.contains(where: { $0.name == name }) {
            throw ProjectionError(
                .notFound, "there is no projection \(name)",
                hint: "there are " + drivers.map(\.name).sorted().joined(separator: ", "),
                projection: name)
        }
        return drivers.filter { names.contains($0.name) }
    }

    /// All but those on demand that nobody has asked for.
    func keptDrivers() throws -> [ProjectionDriver] {
        try drivers.filter { try !$0.isOnDemand || log.viewsEntry($0.fingerprint) != nil }
    }
}
