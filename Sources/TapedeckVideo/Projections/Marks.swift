internal import TapedeckModel
internal import TapedeckProjections

/// The items for the marks of a video; see `WatchLater`.
enum Marks {
    static let toggle: [UInt8] = [UInt8(ascii: "m")]
    static let observed: [UInt8] = [UInt8(ascii: "p")]
    /// The marks that a remote currently shows, even if they were cleared here: `told` for marks
    /// set on the remote, `ownTold` for marks that this store delivered.
    static let told: [UInt8] = [UInt8(ascii: "t")]
    static let ownTold: [UInt8] = [UInt8(ascii: "x")]
    static let broadcast: [UInt8] = [UInt8(ascii: "b")]
    static let viewing: [UInt8] = [UInt8(ascii: "v")]

    static func name(_ order: FoldOrder) -> RowKey { RowKey(toggle + order.item) }

    static func name(time: Int64, id: [UInt8]) -> RowKey {
        BroadcastItems.name(observed, BroadcastPlace(time: time, id: id))
    }

    static func toldName(time: Int64, id: [UInt8]) -> RowKey {
        BroadcastItems.name(told, BroadcastPlace(time: time, id: id))
    }

    /// Returns the current run of a broadcast's observations; nil if the broadcast is unknown.
    static func run(
        of broadcast: [UInt8], _ key: borrowing KeyedState<WatchLater.State>
    ) throws(ModelError) -> ObservedRun? {
        guard let bytes = key.item(RowKey(self.broadcast + broadcast)) else { return nil }
        return try ObservedBroadcast(decoding: bytes).run
    }

    /// Updates the items of a broadcast if its run now begins at a different time, or if a toggle
    /// that this store delivered turns out to have started the run.
    static func retell(
        _ id: [UInt8], from old: Int64?, to new: Int64?,
        _ key: inout KeyedState<WatchLater.State>
    ) throws {
        key.removeItem(RowKey(ownTold + id))
        if let old {
            key.removeItem(name(time: old, id: id))
            key.removeItem(toldName(time: old, id: id))
        }
        if let new, try DeliveredMark.isOwn(id, version: UInt64(clamping: new), key) {
            key.setItem(RowKey(ownTold + id), [])
        } else if let new {
            if key.state.clear < instant(new) { key.setItem(name(time: new, id: id), []) }
            key.setItem(toldName(time: new, id: id), [])
        }
        key.state.isOwnTold = key.firstItem(prefix: RowKey(ownTold)) != nil
        key.state.earliestTold = key.firstItem(prefix: RowKey(told)).flatMap {
            BroadcastItems.place(name: $0.name)?.time
        }
        refresh(&key)
    }

    /// Updates the time of the latest share after the share time of a broadcast has changed.
    ///
    /// A time is nil if the remote does not have the broadcast or its share time is unknown. Reads
    /// all broadcasts only if the latest share may now be earlier.
    static func reshare(
        from old: Int64?, to new: Int64?, _ key: inout KeyedState<WatchLater.State>
    ) throws(ModelError) {
        guard old != new else { return }
        if let new, new >= key.state.sharedAt ?? new {
            key.state.sharedAt = new
            return
        }
        guard old == key.state.sharedAt else { return }
        key.state.sharedAt = nil
        let list = RowKey(broadcast)
        var next = key.firstItem(prefix: list)
        while let item = next {
            if let time = try ObservedBroadcast(decoding: item.value).sharedAt {
                key.state.sharedAt = max(time, key.state.sharedAt ?? time)
            }
            next = key.nextItem(after: item.name, prefix: list)
        }
    }

    /// Returns the order of an observed mark relative to activity.
    ///
    /// The mark precedes all activity in its millisecond, so a clear in the same millisecond
    /// removes it.
    static func instant(_ time: Int64) -> FoldOrder {
        let milliseconds = UInt64(clamping: time)
        return FoldOrder(
            stamp: Stamp(milliseconds: min(milliseconds, Stamp.millisecondsMax)),
            id: EventID(origin: OriginID(high: 0, low: 0), sequence: 0))
    }

    /// Removes all marks before `order`, unless a later clear has already removed them.
    ///
    /// - Parameter event: The event that removes the marks: a toggle-off, or the playback report in
    ///   which a viewing crossed the threshold.
    static func clear(
        before order: FoldOrder, by event: EventID, isCrossing: Bool,
        _ key: inout KeyedState<WatchLater.State>
    ) {
        guard key.state.clear < order else { return }
        key.state.clear = order
        key.state.clearedBy = event
        key.state.isCrossing = isCrossing
        while let mark = firstToggle(key), mark < order { key.removeItem(name(mark)) }
        while let mark = firstObserved(key), instant(mark.time) < order {
            key.removeItem(name(time: mark.time, id: mark.id))
        }
        refresh(&key)
    }

    /// Removes the marks of toggles that a remote confirmed and later withdrew.
    static func takeBack(_ key: inout KeyedState<WatchLater.State>) throws {
        guard key.firstItem(prefix: RowKey(DeliveredMark.prefix)) != nil else { return }
        // Check every mark that a toggle set: there are few, and only the marks of confirmed
        // toggles can be withdrawn.
        var kept: [(name: [UInt8], value: [UInt8])] = []
        while let mark = key.firstItem(prefix: RowKey(toggle)) {
            key.removeItem(RowKey(mark.name))
            if try !DeliveredMark.isTakenBack(mark.value, key) { kept.append(mark) }
        }
        for mark in kept { key.setItem(RowKey(mark.name), mark.value) }
    }

    /// Sets `since` to the time of the earliest remaining mark.
    static func refresh(_ key: inout KeyedState<WatchLater.State>) {
        let toggled = firstToggle(key).map { Int64($0.activityMilliseconds) }
        let observed = firstObserved(key)?.time
        key.state.since = [toggled, observed].compactMap { $0 }.min()
    }

    /// Returns whether the video is on the list at `order`, which must be after all toggles folded
    /// so far.
    static func isMarked(at order: FoldOrder, _ key: borrowing KeyedState<WatchLater.State>) -> Bool
    {
        // Observations are folded before all activity, so the time of an observed mark may be later
        // than `order`.
        firstToggle(key) != nil || firstObserved(key).map { instant($0.time) < order } ?? false
    }

    private static func firstToggle(
        _ key: borrowing KeyedState<WatchLater.State>
    ) -> FoldOrder? {
        key.firstItem(prefix: RowKey(toggle)).flatMap { FoldOrder(item: Array($0.name[1...])) }
    }

    private static func firstObserved(
        _ key: borrowing KeyedState<WatchLater.State>
    ) -> BroadcastPlace? {
        key.firstItem(prefix: RowKey(observed)).flatMap { BroadcastItems.place(name: $0.name) }
    }
}

extension FoldOrder {
    /// The order encoded as bytes that sort in fold order.
    var item: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(FoldOrder.encodedCount)
        append(to: &bytes)
        return bytes
    }

    init?(item bytes: [UInt8]) {
        guard bytes.count == FoldOrder.encodedCount else { return nil }
        self = bytes.withUnsafeBytes { FoldOrder(decoding: $0) }
    }
}
