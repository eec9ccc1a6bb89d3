@_spi(Core) internal import TapedeckModel

/// Which of a key's events have made it what it is, told by folding it again without them.
///
/// The last events are looked at, each by itself; what comes before them is folded once. With `n` of them it
/// costs about `n` folds of `n` events, in memory.
///
/// What is told holds by construction:
/// 1. Without any one deciding event the row is another.
/// 2. Without any one of the others it is the same.
/// 3. Without all lost events together it is the same.
struct Counterfactuals {
    /// Pairs of events that are tried, the one in the place of the other; the rest of them are taken for
    /// lost, of which the promise above holds all the same.
    static let standInsTriedMax = 1_000

    private let folder: KeyFolder
    private let key: Tag
    private let driver: Int
    /// All that count, in canonical order.
    private let events: [EventReference]
    /// Those that are looked at.
    let examined: Range<Int>
    /// What the events before those make of the key.
    private let base: FoldedKey
    /// What the key is.
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

    /// The part of each examined event.
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

    /// Whether the key is the same without some of the events.
    func isSame(without leftOut: Set<Int>) throws -> Bool {
        if leftOut.isEmpty { return true }
        let from = leftOut.allSatisfy(examined.contains) ? examined.lowerBound : 0
        let rest = (from..<events.count).filter { !leftOut.contains($0) }.map { events[$0] }
        return try fold(rest, behindBase: from > 0).isSame(as: actual, law: law)
    }

    private var law: FoldLaw { folder.routing.drivers[driver].law }

    private func fold(_ rest: [EventReference], behindBase: Bool) throws -> FoldedKey {
        guard behindBase, !base.stored.isEmpty else { return folder.fold(key, driver, rest) }
        // Nothing comes of what has its place behind an event that froze the key.
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
            // It begins once more from the start, with its items.
            return folder.fold(key, self.driver, events[..<examined.lowerBound] + rest)
        }
        folded.take(output)
        return folded
    }

    /// As many of some events as can be missing together, the earliest first, and those that cannot.
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

    /// Those among the spared events that would do in the place of a needed one: another sighting of the same.
    private func standIns(for needed: [Int], among spared: [Int]) throws -> Set<Int> {
        var found: Set<Int> = []
        var tried = 0
        for one in needed {
            for other in spared.reversed()
            where events[one].record.type == events[other].record.type && !found.contains(other) {
                tried += 1
                if tried > Counterfactuals.standInsTriedMax { return found }
                let leftOut = Set(spared).subtracting([other]).union([one])
                if try isSame(without: leftOut) { found.insert(other) }
            }
        }
        return found
    }
}
