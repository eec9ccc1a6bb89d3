internal import TapedeckLog
internal import TapedeckModel

/// The facts about a remote's list that this device remembers until it reads the list again.
struct ListMemory: Hashable {
    /// The number of entries when the list was last read, for a list that may show only its newest
    /// entries.
    var count: UInt64 = 0
    /// The time at which the list was first seen empty despite its known entries; 0 if it has not
    /// been seen empty.
    var emptySince: UInt64 = 0
    /// The time at which the list was last read to its end; 0 if it never was.
    var wholeAt: UInt64 = 0
    /// The total that the remote reported when the list was last read.
    var total: UInt64?
    /// The newest entry when the list was last read; empty if there was none.
    var newest = ""
    /// The number of entries by which the list fell short of its total when it was last read to its
    /// end.
    ///
    /// A list that falls short once may have been truncated; if it always falls short by the same
    /// number, the remote counts differently.
    var lacking: UInt64 = 0
    /// The known entries that the list lacked when it was last read to its end, sorted; only for
    /// lists whose removals need confirmation.
    var missing: [Digest16] = []

    /// The maximum number of missing entries to remember; the others are confirmed later.
    static let missingMax = 1_000

    /// Returns the removals whose entries were already missing in the previous reading of the list.
    mutating func confirm(_ removals: [ProposedEvent]) -> [ProposedEvent] {
        func entry(_ removal: ProposedEvent) -> Digest16? { removal.fact?.entity }
        let before = Set(missing)
        missing = Array(removals.compactMap(entry).sorted().prefix(ListMemory.missingMax))
        return removals.filter { entry($0).map(before.contains) ?? false }
    }

    /// Returns whether, according to the first page of a list, an entry was removed since the list
    /// was last read.
    func hasLost(_ entries: [String], of total: UInt64) -> Bool {
        guard let before = self.total else { return true }
        guard let added = newest.isEmpty ? entries.count : entries.firstIndex(of: newest) else {
            return true
        }
        return total < before || total - before < UInt64(added)
    }
}

extension RemoteSession {
    /// The interval, in milliseconds, at which a list is read to its end if it is usually read only
    /// up to its known entries, or only if its number of entries changes.
    static let wholePause: UInt64 = 86_400_000

    /// Returns whether a feed must be read to its end, to find out which entries were removed from
    /// its list.
    ///
    /// - Parameter content: The first page of the feed.
    func mustReadAll(_ content: RemoteContent) throws -> Bool {
        guard content.span != nil, let part = content.pagedList else { return false }
        if refreshesAll { return true }
        let memory = try RemoteRow.list(remote.name, part.name, in: log)
        guard memory.wholeAt > 0, memory.wholeAt <= now,
            now - memory.wholeAt < RemoteSession.wholePause
        else { return true }
        return part.total.map { memory.hasLost(part.entries, of: UInt64(max(0, $0))) } ?? false
    }

    /// Updates the memory of a list with the list's first page.
    func remember(
        _ part: ListPart, isAtEnd: Bool, _ memories: inout [String: ListMemory]
    ) throws {
        var memory = try memories[part.name] ?? RemoteRow.list(remote.name, part.name, in: log)
        memory.total = part.total.map { UInt64(max(0, $0)) }
        memory.newest = part.entries.first ?? ""
        if isAtEnd { memory.wholeAt = now }
        memories[part.name] = memory
    }

    /// The removals implied by the lists that were read.
    struct Removals {
        var events: [ProposedEvent] = []
        /// The `ListMemory` values to store, by list name.
        var memories: [String: ListMemory] = [:]
        /// Whether a list is suddenly empty.
        var isDoubtful = false
        /// Whether a list lacks known entries that may still be on the remote.
        var isPartial = false
    }

    /// Returns the removals implied by the lists that were read.
    ///
    /// A list that is suddenly empty proves nothing until it is read again and is still empty.
    func removals(
        from lists: [WholeList], _ account: RemoteAccount
    ) throws -> Removals {
        guard !lists.isEmpty else { return Removals() }
        let connector = connector
        var found = Removals()
        try runner.read(connector.lookups.map(\.name)) { views in
            for var list in lists {
                let before = try RemoteRow.list(remote.name, list.name, in: log)
                var memory = before
                if !list.isComplete {
                    let count = UInt64(list.entries.count)
                    list.isComplete = count < memory.count
                    memory.count = count
                }
                let lacking = UInt64(max(0, (list.total ?? 0) - list.entries.count))
                let isCut = lacking > 0 && lacking != memory.lacking
                memory.lacking = lacking
                list.earlier = reading.wholeLists
                let findings = try connector.removals(from: list, views, account)
                let isEmptied = list.entries.isEmpty && !findings.removals.isEmpty
                let isConfirmed = memory.emptySince > 0 && memory.emptySince < readingBegan
                let confirmed =
                    findings.needConfirmation
                    ? memory.confirm(findings.removals) : findings.removals
                found.isPartial = found.isPartial || findings.isPartial || isCut
                if isEmptied, !isConfirmed {
                    (found.isDoubtful, found.isPartial) = (true, true)
                    if memory.emptySince == 0 { memory.emptySince = readingBegan }
                } else {
                    memory.emptySince = 0
                    if !isCut { found.events += confirmed }
                }
                if memory != before { found.memories[list.name] = memory }
            }
        }
        return found
    }
}

extension RemoteContent {
    /// The list that continues on the next pages.
    var pagedList: ListPart? {
        lists.first { if case .page = $0.extent { true } else { false } }
    }
}

extension RemoteRow {
    private static func name(_ remote: String, _ list: String) -> String {
        "\(key(remote))/list/\(Digest16(hashing: Array(list.utf8)).text)"
    }

    /// Returns the row that stores the memory of a list.
    ///
    /// For the default memory, the row has no value; writing it deletes the stored row.
    static func list(_ remote: String, _ list: String, _ memory: ListMemory) -> SyncRow {
        let name = name(remote, list)
        guard memory != ListMemory() else { return SyncRow(name, nil) }
        var bytes: [UInt8] = []
        for number in [
            memory.count, memory.emptySince, memory.wholeAt, memory.lacking, memory.total ?? .max,
        ] { bytes.appendLittleEndian(number) }
        bytes.appendPrefixed(memory.newest)
        for entry in memory.missing {
            bytes.appendBigEndian(entry.high)
            bytes.appendBigEndian(entry.low)
        }
        return SyncRow(name, bytes)
    }

    /// Returns the memory of a list; the default memory if none is stored.
    @available(*, noasync)
    static func list(
        _ remote: String, _ list: String, in log: EventLog
    ) throws(LogError) -> ListMemory {
        var memory = ListMemory()
        guard let value = try log.syncRow(name(remote, list)) else { return memory }
        value.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            guard let count = reader.littleEndian(UInt64.self),
                let emptySince = reader.littleEndian(UInt64.self),
                let wholeAt = reader.littleEndian(UInt64.self),
                let lacking = reader.littleEndian(UInt64.self),
                let total = reader.littleEndian(UInt64.self), let newest = reader.prefixedString()
            else { return }
            memory = ListMemory(
                count: count, emptySince: emptySince, wholeAt: wholeAt,
                total: total == .max ? nil : total, newest: newest, lacking: lacking)
            while let high = reader.bigEndian(UInt64.self), let low = reader.bigEndian(UInt64.self)
            {
                memory.missing.append(Digest16(high: high, low: low))
            }
        }
        return memory
    }
}
