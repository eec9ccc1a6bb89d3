public import TapedeckModel

/// A guard on an append: it fails if an event that it forbids is already recorded.
///
/// Conditions hold against this store's log at the moment of the commit, events pulled from elsewhere
/// included. They are not replicated: every guard is repeated in the fold. The form is that of dynamic
/// consistency boundaries (dcb.events).
public struct AppendCondition: Sendable {
    enum Kind: Sendable {
        case none(EventFilter, after: LogPosition)
        case fact(ObservedFact)
        case unchanged(ReadBoundary)
    }

    let kind: Kind

    /// Fails if an event that has all of `tags`, and is one of `types` where these are named, stands
    /// behind `position`; where neither is named, if any event does.
    ///
    /// Costs a read of each record behind the position where these are few, else a look-up.
    public static func noEvent(
        with tags: [Tag], types: [EventType] = [], after position: LogPosition
    ) -> AppendCondition {
        AppendCondition(kind: .none(EventFilter(tags: tags, types: types), after: position))
    }

    /// Fails if the sighting is known: of the sightings of its entity, in the order by (version,
    /// observedAt, content), a later one says the same, or the one right before it does.
    ///
    /// So content A, then B, then A again are three facts, and polling what has not changed is none.
    public static func factIsNews(_ fact: ObservedFact) -> AppendCondition {
        AppendCondition(kind: .fact(fact))
    }
}

/// What `append` has recorded.
public struct AppendedEvents: Hashable, Sendable {
    /// The first event's identity; the others follow by sequence.
    public let firstID: EventID
    /// The first event's position; the others follow.
    public let firstPosition: LogPosition
    /// How many events.
    public let count: Int

    /// The last event's identity.
    public var lastID: EventID {
        EventID(origin: firstID.origin, sequence: firstID.sequence + UInt64(count) - 1)
    }
    /// The last event's position.
    public var lastPosition: LogPosition {
        LogPosition(rawValue: firstPosition.rawValue + UInt64(count) - 1)
    }
}

/// When an append is acknowledged.
public enum Durability: Sendable {
    /// When it is on disk; survives a power loss. Callers at the same time share one commit.
    case durable
    /// At once, in memory; on disk with the next commit or within 100 ms. For playback ticks: a
    /// process that dies before that loses them. Who reads in this process sees them: reading commits
    /// first what waits. `EventLog.head` and other processes see them once they are on disk.
    case buffered
}
