internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

extension ProjectionRunner {
    /// Reads projections as of now: everything appended before the call is folded first.
    ///
    /// - Parameter projections: the names that `body` reads; nil for all. A projection without tables is
    ///   built first, which takes time in a large store.
    ///
    /// Costs a few microseconds when nothing has to be folded. Throws `ProjectionError` and `LogError`.
    @available(*, noasync)
    public func read<R>(_ projections: [String]? = nil, _ body: (Views) throws -> R) throws -> R {
        let wanted = try drivers(named: projections)
        if try !isUpToDate(wanted) { try catchUp(wanted) }
        return try read(grouped(wanted)[...], [:], body)
    }

    func isUpToDate(_ wanted: [ProjectionDriver]) throws -> Bool {
        for driver in wanted {
            guard let entry = try log.viewsEntry(driver.fingerprint),
                files.withLock({ $0[driver.fingerprint]?.number }) == entry.number
            else { return false }
        }
        let head = try log.currentHead().rawValue
        let last = try log.read { try self.log.overrides($0, changedAfter: .max).last }
        return try wanted.allSatisfy { driver in
            guard let reached = try checkpoint(of: driver) else { return false }
            return reached.position >= head && reached.overrides >= last
        }
    }

    private func read<R>(
        _ groups: ArraySlice<(file: ViewsFile, drivers: [ProjectionDriver])>,
        _ sources: [Digest16: (tables: ViewsFile.Tables, transaction: TransactionAlias)],
        _ body: (Views) throws -> R
    ) throws -> R {
        guard let group = groups.first else { return try body(Views(sources)) }
        return try group.file.environment.read { transaction in
            var sources = sources
            for driver in group.drivers {
                if let tables = group.file.tables[driver.fingerprint] {
                    sources[driver.fingerprint] = (tables, transaction.alias)
                }
            }
            return try self.read(groups.dropFirst(), sources, body)
        }
    }

    func drivers(named names: [String]?) throws -> [ProjectionDriver] {
        guard let names else { return drivers }
        for name in names where !drivers.contains(where: { $0.name == name }) {
            throw ProjectionError(
                .notFound, "there is no projection \(name)",
                hint: "there are " + drivers.map(\.name).sorted().joined(separator: ", "),
                projection: name)
        }
        return drivers.filter { names.contains($0.name) }
    }
}
