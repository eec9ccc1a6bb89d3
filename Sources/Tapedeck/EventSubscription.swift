public import TapedeckLog
public import TapedeckModel

/// The events of a store as they come, in the order of its log, each at least once.
///
/// ```swift
/// let mails = try await store.subscribe(named: "mails", types: [CommentPosted.eventType])
/// for try await event in mails {
///     try await send(event)
///     try await mails.acknowledge(through: event)
/// }
/// ```
///
/// A loop begins behind what is acknowledged and waits at the end of the log for what comes, from this
/// process or any other. What was delivered and not acknowledged is delivered again: to the next loop, and
/// after a restart. Acknowledging is a call of its own, because asking for the next event does not say that
/// the one before is done: operators ask ahead, and what an event sets off may take longer.
///
/// Where the log was put back to an earlier state, as from a copy, delivery begins again at a place that it
/// still holds: nothing new is left out, and some of what was there before comes once more. Projections that
/// are rebuilt concern nobody here, since events come from the log.
///
/// A loop ends when its task is cancelled or when the subscription or the store is closed; while the store
/// is suspended, it waits. It throws `StoreError`: `.damaged` (an event is not intact), `.busy` (another
/// process has subscribed by this name while the store was suspended).
public struct EventSubscription: AsyncSequence, Sendable {
    /// A recorded event.
    public typealias Element = EventEnvelope
    /// What a loop throws.
    public typealias Failure = StoreError

    let core: LogSubscription

    /// The name that was subscribed by.
    public var name: String { core.name }

    /// Says that everything up to an event is done and need not come again.
    ///
    /// It returns when that outlives the process; a power cut may undo what was acknowledged in the last
    /// second. An event at or before what is acknowledged changes nothing. One that was not delivered yet
    /// may be acknowledged, too, and what lies before it is then left out.
    ///
    /// Costs a small write that waits for no disk. While the store is suspended it is kept in memory until
    /// that goes on. Throws `StoreError`: `.notFound` (the log does not hold the event: it was put back to
    /// an earlier state), `.closed`, `.busy` as a loop does, `.diskFull`.
    public func acknowledge(through event: EventEnvelope) async throws(StoreError) {
        do { try await core.acknowledge(through: event) } catch { throw StoreError(error) }
    }

    /// Ends the loops and lets others have the name; later calls change nothing.
    ///
    /// Letting go of the subscription and its loops does the same.
    public func close() { core.close() }

    /// Begins behind what is acknowledged.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(core) }

    /// A loop over a subscription.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let core: LogSubscription
        private var place: LogSubscription.Place?
        private var ready: ArraySlice<EventEnvelope> = []

        init(_ core: LogSubscription) { self.core = core }

        /// The next event, for which it waits; nil at the end.
        public mutating func next() async throws(StoreError) -> EventEnvelope? {
            try await next(isolation: nil)
        }

        /// The next event, for which it waits; nil at the end.
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
    /// Subscribes to events under a name, or goes on where it was acknowledged before.
    ///
    /// - Parameters:
    ///   - name: 1 to `EventLog.subscriptionNameCountMax` small letters, digits, dots, dashes and
    ///     underscores. One subscriber at a time has it, in all processes.
    ///   - start: where a name begins that was never subscribed by.
    ///   - types: only events of these types; all where none are named.
    ///   - tags: only events that have all of these tags.
    ///
    /// The filter may be another one than last time. Events that did not fit are passed without being asked
    /// for, and do not come any more.
    ///
    /// Costs a new file, once, and a look-up for each origin. Delivering far behind the end costs a look-up
    /// of each event that fits, else a read of what was appended. Throws `StoreError`: `.busy` (somebody
    /// is subscribed by this name), `.usage` (no such name can be), `.damaged` (the file that says how far
    /// it is), `.readOnly`, `.closed`, `.diskFull`.
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

    /// The subscriptions that this store knows, by name, whether anybody has them open or not.
    ///
    /// Costs a read of a small file each.
    public func subscriptions() async throws(StoreError) -> [SubscriptionStatus] {
        let log = log
        return try await run { try log.subscriptionStatuses() }
    }

    /// Forgets how far a subscription is; who subscribes by this name again begins anew.
    ///
    /// Throws `StoreError`: `.notFound`, `.busy` (somebody has it open), `.closed`.
    public func removeSubscription(named name: String) async throws(StoreError) {
        let log = log
        try await run { try log.removeSubscription(named: name) }
    }
}
