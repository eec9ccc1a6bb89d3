@_spi(Core) internal import TapedeckModel

/// Determines which events of a key decided its state, by folding the key again without some of its
/// events.
///
/// The last events are examined one by one; earlier events are folded only once. Examining `n`
/// events costs about `n` folds of `n` events each, in memory.
///
/// The roles guarantee:
/// 1. Removing any single deciding event changes the result of the fold.
/// 2. Removing any other single event does not change the result.
/// 3. Removing all lost events together does not change the result.
struct Counterfactuals {
    /// The maximum number of tests; each tests whether one event can replace another.
    ///
    /// Candidates that are not tested stay `lost`; the guarantees still hold for them.
    static let standInsTriedMax = 1_000

    private let folder: KeyFolder
    private let key: Tag
    private let driver: Int
    /// All events that are folded into the key, in canonical order.
    private let events: [EventReference]
    /// The indexes of the examined events.
    let examined: Range<Int>
    /// The result of folding the events before `examined`.
    private let base: FoldedKey
    /// The result of folding all events.
    private(set) var actual: FoldedKey

    init(
        _ folder: KeyFolder, _ key: Tag, _ driver: Int, _ events: [EventReference],
        examining count: Int
    ) throws {
        self.folder = folder
        self.key = key
        self.driver = driver
        self.events = events
        examined = max(0, events.count - count)..<events.count
        base = folder.fold(key, driver, Array(events[..<examined.lowerBound]))
        actual = base
        actual = try fold(Array(events[examined]), behindBase: true)
    }

    /// Returns the role of each examined event.
    func roles() throws -> [EventRole] {
        var roles = [EventRole](repeating: .deciding, count: examined.count)
        var others: [Int] = []
        for place in examined where try isSame(without: [place]) { others.append(place) }
        var (lost, needed) = try spared(of: others)
        let standIns = try standIns(for: needed, among: lost)
        if !standIns.isEmpty {
            (lost, needed) = try spared(of: lost.filter { !standIns.contains($0) })
        }
        for place in others { roles[place - examined.lowerBound] = .supporting }
        for place in lost { roles[place - examined.lowerBound] = .lost }
        return roles
    }

    /// Returns whether the key stays the same without the given events.
    func isSame(without excluded: Set<Int>) throws -> Bool {
        if excluded.isEmpty { return true }
        let from = excluded.allSatisfy(examined.contains) ? examined.lowerBound : 0
        let rest = (from..<events.count).filter { !excluded.contains($0) }.map { events[$0] }
        return try fold(rest, behindBase: from > 0).isSame(as: actual, law: law)
    }

    private var law: FoldLaw { folder.routing.drivers[driver].law }

    private func fold(_ rest: [EventReference], behindBase: Bool) throws -> FoldedKey {
        guard behindBase, !base.stored.isEmpty else { return folder.fold(key, driver, rest) }
        // Events after the event that froze the key have no effect.
        guard base.poison == nil else { return base }
        let driver = folder.routing.drivers[driver]
        let folded = FoldedKey(MemoryItems(copying: base.items))
        var output = KeyOutput()
        try base.stored.withUnsafeBytes { bytes in
            try driver.foldOn(
                key: key, from: StoredKey(bytes, law: law), events: rest,
                typeIndex: folder.routing.typeIndexes[self.driver], items: folded.items,
                into: &output)
        }
        guard output.poison == nil else {
            // The fold rejected an event, so fold again from the start, including the items.
            return folder.fold(key, self.driver, events[..<examined.lowerBound] + rest)
        }
        folded.take(output)
        return folded
    }

    /// Divides events into two groups: events that can be removed together, and events that are
    /// needed.
    ///
    /// The removal of earlier events is tried first.
    private func spared(of candidates: [Int]) throws -> (spared: [Int], needed: [Int]) {
        var (spared, needed): ([Int], [Int]) = ([], [])
        func spare(_ part: ArraySlice<Int>) throws {
            if part.isEmpty { return }
            if try isSame(without: Set(spared + part)) {
                spared += part
            } else if part.count == 1 {
                needed += part
            } else {
                let middle = (part.startIndex + part.endIndex) / 2
                try spare(part[..<middle])
                try spare(part[middle...])
            }
        }
        try spare(candidates[...])
        return (spared, needed)
    }

    /// Returns the events in `spared` that could replace a needed event, such as other observations
    /// of the same fact.
    private func standIns(for needed: [Int], among spared: [Int]) throws -> Set<Int> {
        var found: Set<Int> = []
        var tried = 0
        for one in needed {
            for other in spared.reversed()
            where events[one].record.type == events[other].record.type && !found.contains(other) {
                tried += 1
                if tried > Counterfactuals.standInsTriedMax { return found }
                let excluded = Set(spared).subtracting([other]).union([one])
                if try isSame(without: excluded) { found.insert(other) }
            }
        }
        return found
    }
}
