public import TapedeckLog
public import TapedeckModel

/// The events of a store in log order, each delivered at least once.
///
/// ```swift
/// let mails = try await store.subscribe(named: "mails", types: [CommentPosted.eventType])
/// for try await event in mails {
///     try await send(event)
///     try await mails.acknowledge(through: event)
/// }
/// ```
///
/// A loop begins after the last acknowledged event. At the end of the log, the loop waits for new
/// events from this or any other process. Events that were delivered but not acknowledged are
/// delivered again to the next loop, including after a restart. Acknowledging is a separate call,
/// because asking for the next event does not mean that the previous event has been handled.
/// Operators on async sequences may read ahead, and the work for an event may outlast the loop
/// body.
///
/// If the log is restored to an earlier state, for example from a backup, delivery resumes at a
/// position that still exists. No new event is skipped, and some earlier events are delivered
/// again. Rebuilding projections does not affect subscriptions, since events come from the log.
///
/// A loop ends when its task is cancelled, or when the subscription or the store is closed; while
/// the store is suspended, it waits. A loop throws `StoreError`: `.damaged` (an event is damaged),
/// `.busy` (another process subscribed under this name while the store was suspended).
public struct EventSubscription: AsyncSequence, Sendable {
    /// A recorded event.
    public typealias Element = EventEnvelope
    /// The error type of a loop.
    public typealias Failure = StoreError

    let core: LogSubscription

    /// The name of the subscription.
    public var name: String { core.name }

    /// Acknowledges all events up to and including `event`.
    ///
    /// When this method returns, the acknowledgement survives the end of the process; a power
    /// failure may undo acknowledgements from the last second. Acknowledging an event again, or
    /// acknowledging an earlier event, changes nothing. Acknowledging an event before it is
    /// delivered skips all events up to it.
    ///
    /// The cost is a small write that does not wait for the disk. While the store is suspended, the
    /// acknowledgement is kept in memory until the store resumes. Throws `StoreError`: `.notFound`
    /// (the event is no longer in the log, because the log was restored to an earlier state),
    /// `.closed`, `.busy` (another process subscribed under this name while the store was
    /// suspended), `.diskFull`.
    public func acknowledge(through event: EventEnvelope) async throws(StoreError) {
        do { try await core.acknowledge(through: event) } catch { throw StoreError(error) }
    }

    /// Ends all loops and frees the name; later calls do nothing.
    ///
    /// Releasing the subscription and its loops has the same effect.
    public func close() { core.close() }

    /// Returns an iterator that begins after the last acknowledged event.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(core) }

    /// A loop over a subscription.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let core: LogSubscription
        private var place: LogSubscription.Place?
        private var ready: ArraySlice<EventEnvelope> = []

        init(_ core: LogSubscription) { self.core = core }

        /// Waits for the next event and returns it; returns nil at the end.
        public mutating func next() async throws(StoreError) -> EventEnvelope? {
            try await next(isolation: nil)
        }

        /// Waits for the next event and returns it; returns nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(StoreError) -> EventEnvelope? {
            if let event = ready.popFirst() { return event }
            do {
                guard let delivery = try await core.next(after: place) else { return nil }
                place = delivery.place
                ready = delivery.events[...]
                return ready.popFirst()
            } catch {
                throw StoreError(error)
            }
        }
    }
}

extension TapedeckStore {
    /// Subscribes to events under a name, or resumes after the last acknowledged event.
    ///
    /// - Parameters:
    ///   - name: The name, which consists of 1 to `EventLog.subscriptionNameCountMax` lowercase
    ///     letters, digits, dots, dashes and underscores. Only one subscriber at a time, in any
    ///     process, can use the name.
    ///   - start: The starting position if the name is new.
    ///   - types: The event types to deliver; all if empty.
    ///   - tags: The tags to match; an event is delivered only if it has all of them.
    ///
    /// The filter may differ from the filter of earlier subscriptions with this name. Events that
    /// did not match an earlier filter were skipped and are not delivered later.
    ///
    /// The cost is one lookup per origin, plus a new file if the name is new. Far from the end of
    /// the log, delivery costs a lookup per matching event; near the end, it costs a read of the
    /// new events. Throws `StoreError`: `.busy` (the subscription is already open), `.usage` (the
    /// name is invalid), `.damaged` (the subscription's file is damaged), `.readOnly`,
    /// `.closed`, `.diskFull`.
    public func subscribe(
        named name: String, from start: SubscriptionStart = .beginning, types: [EventType] = [],
        tags: [Tag] = []
    ) async throws(StoreError) -> EventSubscription {
        let log = log
        return try await run {
            EventSubscription(
                core: try log.subscribe(
                    named: name, from: start, EventFilter(tags: tags, types: types)))
        }
    }

    /// Returns all subscriptions known to this store, ordered by name, whether or not they are
    /// open.
    ///
    /// The cost is reading one small file per subscription.
    public func subscriptions() async throws(StoreError) -> [SubscriptionStatus] {
        let log = log
        return try await run { try log.subscriptionStatuses() }
    }

    /// Removes a subscription; the next subscriber with this name starts over.
    ///
    /// Throws `StoreError`: `.notFound`, `.busy` (the subscription is open), `.closed`.
    public func removeSubscription(named name: String) async throws(StoreError) {
        let log = log
        try await run { try log.removeSubscription(named: name) }
    }
}
