public import TapedeckModel

/// A condition that makes an append fail if the log contains a conflicting event.
///
/// Conditions are checked against this store's log at the time of the commit, including events
/// pulled from servers. Other devices do not check the condition, and may record a conflicting
/// event at the same time, so the folds of projections must check for conflicts again. The design
/// follows dynamic consistency boundaries (dcb.events).
public struct AppendCondition: Sendable {
    enum Kind: Sendable {
        case none(EventFilter, after: LogPosition)
        case fact(ObservedFact)
        case unchanged(ReadBoundary)
    }

    let kind: Kind

    /// Fails if an event after `position` has all of `tags` and, if `types` is not empty, one of
    /// these types.
    ///
    /// Without tags and types, any event after `position` matches. If few records follow the
    /// position, each of them is read; otherwise, the index is used.
    public static func noEvent(
        with tags: [Tag], types: [EventType] = [], after position: LogPosition
    ) -> AppendCondition {
        AppendCondition(kind: .none(EventFilter(tags: tags, types: types), after: position))
    }

    /// Fails if the observation is already known.
    ///
    /// The observations of an entity are ordered by (version, observedAt, content). The condition
    /// fails if the previous observation in this order, or any later observation, has the same
    /// content. If the content changes from A to B and back to A, all three observations are
    /// therefore recorded. Repeated observations of unchanged content are not recorded.
    public static func factIsNew(_ fact: ObservedFact) -> AppendCondition {
        AppendCondition(kind: .fact(fact))
    }

    /// The former name of `factIsNew`.
    @available(*, deprecated, renamed: "factIsNew")
    public static func factIsNews(_ fact: ObservedFact) -> AppendCondition { factIsNew(fact) }
}

/// The result of an append.
public struct AppendedEvents: Hashable, Sendable {
    /// The id of the first event; the sequence numbers of the other events follow without gaps.
    public let firstID: EventID
    /// The position of the first event; the positions of the other events follow without gaps.
    public let firstPosition: LogPosition
    /// The number of events.
    public let count: Int

    /// The id of the last event.
    public var lastID: EventID {
        EventID(origin: firstID.origin, sequence: firstID.sequence + UInt64(count) - 1)
    }
    /// The position of the last event.
    public var lastPosition: LogPosition {
        LogPosition(rawValue: firstPosition.rawValue + UInt64(count) - 1)
    }
}

/// The point at which an append is acknowledged.
public enum Durability: Sendable {
    /// The append is acknowledged once the events are on disk, where they survive a power failure.
    ///
    /// Concurrent callers share a commit.
    case durable
    /// The append is acknowledged immediately, while the events are only in memory.
    ///
    /// The events are written with the next commit or within 100 ms. Use this only for events that
    /// may be lost, such as playback ticks, because they are lost if the process dies before the
    /// commit. Readers in this process see the events, because a read first commits pending events.
    /// Once the events are on disk, `EventLog.head` includes them and other processes see them.
    case buffered
}
