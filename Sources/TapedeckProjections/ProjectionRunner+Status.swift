internal import TapedeckLMDB
internal import TapedeckLog

extension ProjectionRunner {
    /// How far each projection has come, and how many of its keys are frozen; folds nothing.
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

    /// The keys that are frozen because their fold refused an event.
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
    /// The keys that are frozen, the first `limit` of them.
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

/// How far one projection has come.
public struct ProjectionStatus: Sendable, Codable, Hashable {
    /// The projection's name.
    public var name: String
    /// Its version.
    public var version: Int
    /// Whether there are tables of it.
    ///
    /// What has none is built when it is first read; one on demand, when somebody first asks for it.
    public var isBuilt: Bool
    /// Every event up to here is folded; 0 where nothing is built yet.
    public var position: UInt64
    /// How many events are not folded yet; 0 where nobody has asked for one on demand.
    public var behind: UInt64
    /// How many keys are frozen.
    public var frozen: Int
}
