internal import TapedeckModel
internal import TapedeckProjections

/// A video in a queue: its neighbours, its place, and the time at which it was placed there.
struct QueueEntry: Equatable {
    var previous: String?
    var next: String?
    var place: UInt64
    /// The time at which the video was placed there, in Unix milliseconds.
    var at: Int64

    static let prefix: [UInt8] = [UInt8(ascii: "e")]
    /// The distance between consecutively assigned places.
    private static let gap: UInt64 = 1 << 32
    /// The place of the first video that is added to an empty queue: the middle of the range,
    /// leaving room at both ends.
    private static let middle: UInt64 = 1 << 63

    init(previous: String?, next: String?, place: UInt64, at: Int64) {
        self.previous = previous
        self.next = next
        self.place = place
        self.at = at
    }

    init(decoding bytes: [UInt8]) throws(ModelError) {
        self = try StateReader.read(bytes) { (reader) throws(ModelError) in
            QueueEntry(
                previous: try reader.optionalString(), next: try reader.optionalString(),
                place: try reader.uint64(), at: try reader.int64())
        }
    }

    var encoded: [UInt8] {
        var writer = StateWriter()
        writer.add(previous)
        writer.add(next)
        writer.add(place)
        writer.add(at)
        return writer.bytes
    }

    // MARK: - The list

    static func name(_ video: String) -> RowKey { RowKey(prefix + Array(video.utf8)) }

    private static func entry(
        _ video: String, _ key: borrowing KeyedState<PlayQueue.State>
    ) throws(ModelError) -> QueueEntry {
        guard let bytes = key.item(name(video)) else {
            throw ModelError(.damaged, "a queue entry is missing")
        }
        return try QueueEntry(decoding: bytes)
    }

    /// Inserts a video after another video, or at the front; the inserted video must not already be
    /// in the queue.
    static func link(
        _ video: String, behind previous: String?, at: Int64,
        _ key: inout KeyedState<PlayQueue.State>
    ) throws(ModelError) {
        if try place(behind: previous, key) == nil { try spread(&key) }
        var before: QueueEntry?
        if let previous { before = try entry(previous, key) }
        let next = previous == nil ? key.state.head : before?.next
        guard let place = try place(behind: previous, key) else {
            throw ModelError(.tooLarge, "a queue has no room for another video")
        }
        let made = QueueEntry(previous: previous, next: next, place: place, at: at)
        if let previous, var before {
            before.next = video
            key.setItem(name(previous), before.encoded)
        } else {
            key.state.head = video
        }
        if let next {
            var behind = try entry(next, key)
            behind.previous = video
            key.setItem(name(next), behind.encoded)
        } else {
            key.state.tail = video
        }
        key.setItem(name(video), made.encoded)
        key.state.count += 1
    }

    /// Removes a video from the queue if it is there.
    static func unlink(
        _ video: String, _ key: inout KeyedState<PlayQueue.State>
    ) throws(ModelError) {
        guard let bytes = key.item(name(video)) else { return }
        let gone = try QueueEntry(decoding: bytes)
        if let previous = gone.previous {
            var before = try entry(previous, key)
            before.next = gone.next
            key.setItem(name(previous), before.encoded)
        } else {
            key.state.head = gone.next
        }
        if let next = gone.next {
            var behind = try entry(next, key)
            behind.previous = gone.previous
            key.setItem(name(next), behind.encoded)
        } else {
            key.state.tail = gone.previous
        }
        key.removeItem(name(video))
        key.state.count -= 1
    }

    /// Returns a place after a video, or at the front; nil if there is no room.
    private static func place(
        behind previous: String?, _ key: borrowing KeyedState<PlayQueue.State>
    ) throws(ModelError) -> UInt64? {
        var before: QueueEntry?
        if let previous { before = try entry(previous, key) }
        var behind: QueueEntry?
        if let next = previous == nil ? key.state.head : before?.next {
            behind = try entry(next, key)
        }
        switch (before?.place, behind?.place) {
        case (nil, nil): return middle
        case (let low?, nil): return low > .max - gap ? nil : low + gap
        case (nil, let high?): return high < gap ? nil : high - gap
        case (let low?, let high?): return high - low < 2 ? nil : low + (high - low) / 2
        }
    }

    /// Reassigns all places, keeping the order.
    private static func spread(_ key: inout KeyedState<PlayQueue.State>) throws(ModelError) {
        var video = key.state.head
        var place = middle
        while let current = video {
            var moved = try entry(current, key)
            moved.place = place
            key.setItem(name(current), moved.encoded)
            place += gap
            video = moved.next
        }
    }
}
