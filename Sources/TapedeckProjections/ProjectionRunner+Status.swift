internal import TapedeckLMDB
internal import TapedeckLog

extension ProjectionRunner {
    /// Returns the state of each projection without folding anything.
    @available(*, noasync)
    public func status() throws -> [ProjectionStatus] {
        opening.lock()
        defer { opening.unlock() }
        try checkOpen()
        let head = try log.currentHead().rawValue
        return try drivers.map { driver in
            var status = ProjectionStatus(
                name: driver.name, version: driver.version, isBuilt: false, position: 0,
                behind: driver.isOnDemand ? 0 : head, frozen: 0)
            guard let entry = try log.viewsEntry(driver.fingerprint) else { return status }
            if files.withLock({ $0[driver.fingerprint]?.number }) != entry.number {
                guard try openIfServing(entry) else { return status }
            }
            status.isBuilt = true
            status.position = try checkpoint(of: driver)?.position ?? 0
            status.behind = head - min(head, status.position)
            status.frozen = try frozenKeys(of: driver).count
            return status
        }
    }

    /// Returns the keys that are frozen because their fold rejected an event.
    @available(*, noasync)
    public func frozenKeys() throws -> [FrozenKey] {
        _ = try status()
        return try drivers.flatMap { try frozenKeys(of: $0) }
    }

    private func frozenKeys(of driver: ProjectionDriver) throws -> [FrozenKey] {
        guard let file = files.withLock({ $0[driver.fingerprint] }),
            let tables = file.tables[driver.fingerprint]
        else { return [] }
        return try file.environment.read { try tables.frozenKeys($0) }
    }
}

extension ViewsFile.Tables {
    /// Returns the first `limit` frozen keys.
    func frozenKeys(
        limit: Int = .max, _ views: borrowing ReadTransaction
    ) throws -> [FrozenKey] {
        let cursor = try views.cursor(extra)
        var found: [FrozenKey] = []
        var entry = try cursor.seek(ExtraKey.allFrozen)
        while found.count < limit, let row = entry {
            if let frozen = FrozenKey(decoding: row.value) { found.append(frozen) }
            entry = try cursor.next()
        }
        return found
    }
}

/// The state of a projection.
public struct ProjectionStatus: Sendable, Codable, Hashable {
    /// The name of the projection.
    public var name: String
    /// The version of the projection.
    public var version: Int
    /// Whether the projection has tables.
    ///
    /// If the projection has no tables yet, they are built the first time it is used. An on-demand
    /// projection without tables is skipped by calls that do not name it.
    public var isBuilt: Bool
    /// The position up to which all events have been folded; 0 if the projection has no tables.
    public var position: UInt64
    /// The number of events that have not been folded yet; 0 for an on-demand projection that has
    /// not been used.
    public var behind: UInt64
    /// The number of frozen keys.
    public var frozen: Int
}
