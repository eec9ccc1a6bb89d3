internal import TapedeckLMDB
internal import TapedeckLog
@_spi(Core) public import TapedeckModel

/// What part an event has in what a key is.
public enum EventRole: String, Hashable, Sendable, Codable, CaseIterable {
    /// Without it alone the key would be another.
    case deciding
    /// Without it alone the key would be the same, since another event says the same; without both it would
    /// be another.
    case supporting
    /// Without it the key would be the same, also without it and all others that are lost.
    case lost
    /// It counts nowhere: a server refused it, or another event says the same under its name.
    case refused
}

/// Why a key of a projection is what it is: the rule, the state, and what part each event has in it.
public struct KeyExplanation: Hashable, Sendable, Codable {
    /// An event of the key.
    public struct Event: Hashable, Sendable, Codable {
        /// Its id.
        public var event: String
        /// Its position in this store's log.
        public var position: UInt64
        /// Its type.
        public var type: String
        /// As of when it counts, in Unix milliseconds.
        public var atMilliseconds: UInt64
        /// What part it has.
        public var role: EventRole
    }

    /// The projection's name.
    public var projection: String
    /// The key, `kind/name`.
    public var key: String
    /// By what rule events make a key what it is; nil where the projection's author has not said.
    public var rule: String?
    /// The fields of the state that hold something; nil where no event has made a state.
    public var state: [StateField]?
    /// How many items the key has.
    public var items: Int
    /// How many rows it yields.
    public var rows: Int
    /// Why the key is frozen: its fold refused an event, and what comes behind that counts for nothing.
    public var frozen: FrozenKey?
    /// The events that were examined, and those that were refused, in canonical order.
    public var events: [Event]
    /// Events in front of these that made the key, too, and of which nothing was found out.
    public var unexamined: Int

    /// How many events are examined where nothing is said: the last ones.
    public static let eventsDefault = 200
    /// The most events that are examined: the cost grows with their square, and is some seconds then.
    public static let eventsMax = 2_000
    /// The most events of a key of which `parts(of:)` finds out what part one of them has.
    public static let eventsForPartsMax = 20_000
}

/// A key that an event is folded into.
public struct EventPart: Hashable, Sendable, Codable {
    /// The projection's name.
    public var projection: String
    /// The key, `kind/name`.
    public var key: String
    /// What part the event has in the key; nil where that was not found out, as the key has too many events
    /// or too many come behind this one.
    public var role: EventRole?
}

extension ProjectionRunner {
    /// Says by what rule a key is what it is, and what part each of its events has in it.
    ///
    /// The key's events are found by the log's index and folded in memory, again and again without one of
    /// them; no table of any projection is read. With the default number of events that is some milliseconds.
    ///
    /// - Parameters:
    ///   - projection: its name.
    ///   - key: a tag of the projection's kind.
    ///   - point: as of when; nil for now.
    ///   - leftOut: events without which the key is looked at, as if they had not happened.
    ///   - count: how many events are examined, the last ones in canonical order.
    ///
    /// Throws `ProjectionError`: `.notFound` for an unknown projection or event, `.usage` for a key of another
    /// kind or a count that makes no sense, `.tooLarge` for a key with more than a million events; and what
    /// the log throws.
    @available(*, noasync)
    public func explain(
        _ projection: String, key: Tag, asOf point: HistoryPoint? = nil,
        without leftOut: [EventID] = [], events count: Int = KeyExplanation.eventsDefault
    ) throws -> KeyExplanation {
        try checkOpen()
        let wanted = try drivers(named: [projection])
        guard (1...KeyExplanation.eventsMax).contains(count) else {
            throw ProjectionError(
                .usage, "\(count) events cannot be examined, only 1 to \(KeyExplanation.eventsMax)",
                projection: projection)
        }
        guard let driver = wanted.first, key.text.utf8.starts(with: driver.tagPrefix) else {
            let kind = wanted.first.map { String(decoding: $0.tagPrefix, as: UTF8.self) } ?? ""
            throw ProjectionError(
                .usage, "\(key) is no key of \(projection), whose keys begin with \(kind)",
                projection: projection)
        }
        return try ProjectionError.naming {
            let folder = try KeyFolder(log, [driver], point?.limit ?? .none, leftOut: leftOut)
            do {
                return try log.readNaming { records in
                    try folder.explanation(of: key, 0, examining: count, records)
                }
            } catch is KeyFolder.TooManyEvents {
                throw ProjectionError(
                    .tooLarge,
                    "\(key) has more than \(KeyFolder.eventsMax) events in \(projection)",
                    hint: "storectl log --tag \(key) prints them", projection: projection)
            }
        }
    }

    /// The keys that an event is folded into, and what part it has in each.
    ///
    /// Costs what `explain` of each of them does, but for keys with very many events, which are not folded.
    /// Throws `ProjectionError` with `.notFound` for an event that is not recorded here, and what the log
    /// throws.
    @available(*, noasync)
    public func parts(of event: EventID) throws -> [EventPart] {
        try checkOpen()
        return try ProjectionError.naming {
            let folder = try KeyFolder(log, drivers)
            return try log.readNaming { records in
                let position = try folder.position(of: event, records)
                var parts: [EventPart] = []
                for (index, driver) in folder.routing.drivers.enumerated() {
                    for key in try folder.keys(of: position, index, records) {
                        parts.append(
                            EventPart(
                                projection: driver.name, key: key.text,
                                role: try folder.role(of: position, in: key, index, records)))
                    }
                }
                return parts
            }
        }
    }
}

extension KeyFolder {
    fileprivate func explanation(
        of key: Tag, _ driver: Int, examining count: Int, _ records: borrowing ReadTransaction
    ) throws -> KeyExplanation {
        var refused: [EventReference] = []
        try forEachRecord(of: key, driver, records) { record in
            if let event = admission.refused(record) { refused.append(event) }
        }
        let events = try events(of: key, driver, records)
        let counterfactuals = try Counterfactuals(self, key, driver, events, examining: count)
        let folded = counterfactuals.actual
        let (projection, types) = (routing.drivers[driver], routing.typeIndexes[driver])
        var told: [(EventReference, EventRole)] = Array(
            zip(events[counterfactuals.examined], try counterfactuals.roles()))
        told += refused.suffix(count).map { ($0, .refused) }
        told.sort { EventReference.precedes($0.0, $1.0) }
        return KeyExplanation(
            projection: projection.name, key: key.text, rule: projection.ruleText,
            state: try folded.fields(projection), items: folded.items.count,
            rows: try folded.rows(key, projection).count,
            frozen: folded.poison.map {
                FrozenKey(
                    projection: projection.name, key: key.text, event: $0.id.description,
                    position: $0.position, reason: $0.reason)
            },
            events: told.map { event, role in
                KeyExplanation.Event(
                    event: name(of: event.record).description, position: event.record.position,
                    type: projection.eventTypes[Int(types[Int(event.record.type)])].name,
                    atMilliseconds: event.stamp.milliseconds, role: role)
            },
            unexamined: counterfactuals.examined.lowerBound)
    }

    /// The keys of a projection that the event at a position is folded into.
    fileprivate func keys(
        of position: UInt64, _ driver: Int, _ records: borrowing ReadTransaction
    ) throws -> [Tag] {
        let record = try record(at: position, records)
        try routing.check(record)
        guard routing.typeIndexes[driver][Int(record.type)] >= 0 else { return [] }
        var keys: [Tag] = []
        record.forEachTag { tag in
            guard Routing.begins(tag, with: routing.drivers[driver].tagPrefix) else { return }
            let key = Tag(unchecked: String(decoding: tag, as: UTF8.self))
            if !keys.contains(key) { keys.append(key) }
        }
        return keys
    }

    fileprivate func role(
        of position: UInt64, in key: Tag, _ driver: Int, _ records: borrowing ReadTransaction
    ) throws -> EventRole? {
        guard admission.refused(try record(at: position, records)) == nil else { return .refused }
        do {
            let events = try events(
                of: key, driver, records, max: KeyExplanation.eventsForPartsMax)
            guard let place = events.firstIndex(where: { $0.record.position == position }) else {
                return nil
            }
            let counterfactuals = try Counterfactuals(
                self, key, driver, events, examining: KeyExplanation.eventsDefault)
            guard try counterfactuals.isSame(without: [place]) else { return .deciding }
            guard counterfactuals.examined.contains(place) else { return nil }
            return try counterfactuals.roles()[place - counterfactuals.examined.lowerBound]
        } catch is TooManyEvents {
            return nil
        }
    }

    private func record(
        at position: UInt64, _ records: borrowing ReadTransaction
    ) throws -> RecordView {
        guard let bytes = try records.get(log.recordTable, integer: position) else {
            throw LogError(
                .damaged, "the event at position \(position) is missing",
                hint: "storectl verify lists what is damaged; restore a backup",
                position: LogPosition(rawValue: position))
        }
        return try log.record(bytes, at: position)
    }
}

extension FoldedKey {
    /// What the state holds; nil where there is none.
    fileprivate func fields(_ driver: ProjectionDriver) throws -> [StateField]? {
        guard !stored.isEmpty else { return nil }
        return try stored.withUnsafeBytes { bytes in
            try driver.fields(of: StoredKey(bytes, law: driver.law))
        }
    }
}
