internal import TapedeckLMDB
internal import TapedeckLog
@_spi(Core) public import TapedeckModel

/// The role of an event in the state of a key.
public enum EventRole: String, Hashable, Sendable, Codable, CaseIterable {
    /// Removing this event alone would change the state or items of the key.
    case deciding
    /// Removing this event alone would change nothing, because another event has the same effect;
    /// removing both would change the key.
    case supporting
    /// Removing this event would change nothing, even if all other `lost` events were removed, too.
    case lost
    /// The event is ignored: a server refused it, or another reissue of the same event is used
    /// instead.
    case refused
}

/// An explanation of a key of a projection: the rule, the state, and the role of each event.
public struct KeyExplanation: Hashable, Sendable, Codable {
    /// An event of the key.
    public struct Event: Hashable, Sendable, Codable {
        /// The id of the event.
        public var event: String
        /// The position in this store's log.
        public var position: UInt64
        /// The type of the event.
        public var type: String
        /// The effective time of the event, in milliseconds since 1970.
        public var atMilliseconds: UInt64
        /// The role of the event.
        public var role: EventRole
    }

    /// The name of the projection.
    public var projection: String
    /// The key, in the form `kind/name`.
    public var key: String
    /// A sentence that explains how events determine the state of a key; nil if the projection has
    /// none.
    public var rule: String?
    /// The fields of the state that have values; nil if the key has no state.
    public var state: [StateField]?
    /// The number of items of the key.
    public var items: Int
    /// The number of rows of the key.
    public var rows: Int
    /// The event and the reason that froze the key; nil if the key is not frozen.
    ///
    /// A key freezes when its fold rejects an event; all later events of the key are ignored.
    public var frozen: FrozenKey?
    /// The examined events and the refused events, in canonical order.
    public var events: [Event]
    /// The number of earlier events that contributed to the key but were not examined.
    public var unexamined: Int

    /// The default number of events to examine, counting back from the last one.
    public static let eventsDefault = 200
    /// The maximum number of events to examine; the cost is quadratic, and examining this many
    /// takes a few seconds.
    public static let eventsMax = 2_000
    /// The maximum number of a key's events for which `parts(of:)` determines roles; in a key with
    /// more events, only refused events have a role.
    public static let eventsForPartsMax = 20_000
}

/// A key into which an event is folded, and the role of the event in the key.
public struct EventPart: Hashable, Sendable, Codable {
    /// The name of the projection.
    public var projection: String
    /// The key, in the form `kind/name`.
    public var key: String
    /// The role of the event in the key; nil if it was not determined, because the key has too many
    /// events or too many events follow this event.
    public var role: EventRole?
}

extension ProjectionRunner {
    /// Explains the state of a key: the rule, and the role of each of its events.
    ///
    /// The method looks up the events of the key in the log's index and folds the key in memory
    /// repeatedly, each time without some of its events. The method reads no projection tables.
    /// With the default number of events, the method takes a few milliseconds.
    ///
    /// - Parameters:
    ///   - projection: The name of the projection.
    ///   - key: A tag of the projection's kind.
    ///   - point: The point in history; nil for now.
    ///   - excluded: The events to ignore, as if they had not happened.
    ///   - count: The number of events to examine, counted from the last in canonical order.
    ///
    /// Throws `ProjectionError`: `.notFound` (the projection or an event does not exist), `.usage`
    /// (the key is not of the projection's kind, the count is invalid, or the log has not reached
    /// the position), `.tooLarge` (the key has more than a million events). Also throws errors from
    /// the log.
    @available(*, noasync)
    public func explain(
        _ projection: String, key: Tag, asOf point: HistoryPoint? = nil,
        without excluded: [EventID] = [], events count: Int = KeyExplanation.eventsDefault
    ) throws -> KeyExplanation {
        try checkOpen()
        let wanted = try drivers(named: [projection])
        guard (1...KeyExplanation.eventsMax).contains(count) else {
            throw ProjectionError(
                .usage,
                "cannot examine \(count) events: the count must be from 1 to \(KeyExplanation.eventsMax)",
                projection: projection)
        }
        guard let driver = wanted.first, key.text.utf8.starts(with: driver.tagPrefix) else {
            let kind = wanted.first.map { String(decoding: $0.tagPrefix, as: UTF8.self) } ?? ""
            throw ProjectionError(
                .usage, "\(key) is not a key of \(projection): its keys begin with \(kind)",
                projection: projection)
        }
        return try ProjectionError.naming {
            let folder = try KeyFolder(
                log, [driver], try point?.limit(in: log) ?? .none, excluded: excluded)
            do {
                return try log.readNaming { records in
                    try folder.explanation(of: key, 0, examining: count, records)
                }
            } catch is KeyFolder.TooManyEvents {
                throw ProjectionError(
                    .tooLarge,
                    "\(key) has more than \(KeyFolder.eventsMax) events in \(projection)",
                    hint:
                        "storectl log --tag \(ShellWord.quoted(key.description)) prints its events",
                    projection: projection)
            }
        }
    }

    /// Returns the keys into which an event is folded, with the event's role in each.
    ///
    /// The method costs as much as calling `explain` for each key, except that keys with very many
    /// events are not folded. Throws `ProjectionError` with `.notFound` if the event is not in this
    /// store, and errors from the log.
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

    /// Returns the keys of a projection into which the event at a position is folded.
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
    /// Returns the fields of the state; nil if the key has no state.
    fileprivate func fields(_ driver: ProjectionDriver) throws -> [StateField]? {
        guard !stored.isEmpty else { return nil }
        return try stored.withUnsafeBytes { bytes in
            try driver.fields(of: StoredKey(bytes, law: driver.law))
        }
    }
}
