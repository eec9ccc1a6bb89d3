internal import Dispatch
internal import TapedeckLMDB
package import TapedeckModel

/// An open subscription, which reads events for its loops and stores their acknowledgements.
///
/// Invariants:
/// 1. Everything up to the stored position was acknowledged or does not match the filter. A loop
///    starts after that position, so an event that was not acknowledged is delivered again.
/// 2. Positions have no gaps and are assigned in the committing transaction, so a reader at a
///    position has seen every event up to it.
/// 3. Acknowledged positions are checked against the log before every page. If the log was restored
///    to an earlier state, delivery restarts at the newest mark that is still valid
///    (`SubscriptionMarks`).
/// 4. While the log is suspended, the subscription's lock is released and nothing is read; loops
///    wait.
package final class LogSubscription: @unchecked Sendable {
    /// The maximum number of events to read at a time.
    private static let eventsPerPageMax = 256
    /// The maximum delay before written acknowledgements are synced to disk.
    private static let synchronizeDelay = DispatchTimeInterval.seconds(1)

    /// A position and the checksum of the record there.
    package struct Place: Hashable, Sendable {
        var position: UInt64
        var checksum: UInt32
    }

    /// Events for a loop, and the place to continue from.
    package struct Delivery: Sendable {
        package var events: [EventEnvelope]
        package var place: Place
    }

    private typealias Answer = Result<Delivery?, LogError>

    /// A loop waiting for events.
    private final class Waiter: @unchecked Sendable {
        // Guarded by the subscription's queue.
        var place: Place?
        var isCancelled = false
        var continuation: CheckedContinuation<Answer, Never>?

        init(_ place: Place?) { self.place = place }

        func answer(_ answer: Answer) {
            continuation?.resume(returning: answer)
            continuation = nil
        }
    }

    private enum Phase { case open, suspended, ended }

    package let name: String
    private let filter: EventFilter
    let log: EventLog
    private let queue = DispatchQueue(label: "tapedeck.log.subscription", qos: .userInitiated)

    // All properties below are guarded by `queue`.
    /// Nil after the subscription has ended.
    private var file: SubscriptionFile?
    private var marks: SubscriptionMarks
    private var acknowledged: Place
    /// A range without matching events: acknowledging its start also acknowledges its end.
    private var silence: (from: UInt64, to: Place)?
    /// The last event acknowledged while the log was suspended.
    private var postponed: EventEnvelope?
    private var phase = Phase.open
    private var failure: LogError?
    private var waiters: [Waiter] = []
    private var isUnwritten = false
    private var isUnsynced = false
    private var willSynchronize = false
    private var willPoll = false
    private var observer: Int?

    /// Starts from a locked subscription file.
    init(
        _ log: EventLog, _ file: SubscriptionFile, name: String, from start: SubscriptionStart,
        _ filter: EventFilter
    ) throws {
        self.log = log
        self.name = name
        self.filter = filter
        self.file = file
        if var marks = try file.read() {
            let isHeld = try log.environment.read { transaction in
                try marks.goBack { try log.holds($0, transaction) }
            }
            if !isHeld { try file.write(marks) }
            self.marks = marks
        } else {
            marks = try log.environment.read { try log.marks(of: start, $0) }
            try file.write(marks)
            try file.synchronize()
            try DurableFile.synchronize(log.directory.subscriptions)
        }
        acknowledged = Place(marks.newest)
        observer = log.observeCommits { [weak self] _ in self?.wake() }
    }

    deinit { if let observer { log.stopObserving(observer) } }

    // MARK: - For loops

    /// Returns the next events after a place, or after the acknowledged position if `place` is nil;
    /// waits for at least one event.
    ///
    /// Returns nil when the subscription or the log is closed, or the task is cancelled.
    package func next(after place: Place?) async throws(LogError) -> Delivery? {
        let waiter = Waiter(place)
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async {
                    waiter.continuation = continuation
                    self.serve(waiter)
                }
            }
        } onCancel: {
            queue.async {
                waiter.isCancelled = true
                self.waiters.removeAll { $0 === waiter }
                waiter.answer(.success(nil))
            }
        }
        return try answer.get()
    }

    /// Acknowledges all events up to and including `event`; returns when the acknowledgement would
    /// survive the end of the process.
    package func acknowledge(through event: EventEnvelope) async throws(LogError) {
        let result: Result<Void, LogError> = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(
                    returning: Result { () throws(LogError) in try self.acknowledge(event) })
            }
        }
        try result.get()
    }

    /// Ends the loops and releases the name; further calls do nothing.
    package func close() {
        queue.sync {
            guard phase != .ended else { return }
            if phase == .open { putOnDisk() }
            phase = .ended
            file = nil
            serveAll()
        }
        log.forget(self)
    }

    // MARK: - For the log

    func suspend() {
        queue.sync {
            guard phase == .open else { return }
            putOnDisk()
            file?.unlock()
            phase = .suspended
        }
    }

    func resume() {
        queue.sync {
            guard phase == .suspended, let file else { return }
            phase = .open
            do {
                try file.relock()
                if let read = try file.read() { marks = read }
                try goBack()
                if let postponed {
                    self.postponed = nil
                    try acknowledge(postponed)
                }
            } catch {
                failure = LogError.wrapping(error)
                isUnwritten = false
            }
            serveAll()
        }
    }

    private func wake() { queue.async { self.serveAll() } }

    // MARK: - On the queue

    private func serveAll() {
        let waiting = waiters
        waiters = []
        for waiter in waiting { serve(waiter) }
    }

    /// Delivers a loop's next events, or keeps the loop waiting if there are none.
    private func serve(_ waiter: Waiter) {
        guard !waiter.isCancelled, phase != .ended else { return waiter.answer(.success(nil)) }
        if let failure { return waiter.answer(.failure(failure)) }
        guard phase == .open else { return waiters.append(waiter) }
        do {
            let delivery = try read(after: waiter.place)
            waiter.place = delivery.place
            guard delivery.events.isEmpty else { return waiter.answer(.success(delivery)) }
            waiters.append(waiter)
            pollLater()
        } catch {
            let error = LogError.wrapping(error)
            waiter.answer(error.code == .closed ? .success(nil) : .failure(error))
        }
    }

    /// Returns the next matching events; none if the end of the log has been reached.
    private func read(after wanted: Place?) throws -> Delivery {
        var place = wanted ?? acknowledged
        while true {
            // Events acknowledged ahead of the loop are not delivered again.
            if place.position < acknowledged.position { place = acknowledged }
            try log.refreshState()
            let from = place
            let page = try log.read { transaction -> (EventPage, Place)? in
                guard
                    try self.log.checksum(at: from.position, transaction) == from.checksum
                else { return nil }
                let page = try self.log.page(
                    fitting: self.filter, after: from.position,
                    limit: LogSubscription.eventsPerPageMax, transaction)
                let reached = page.reached.rawValue
                guard let checksum = try self.log.checksum(at: reached, transaction) else {
                    throw LogError.damagedRecord(reached, "it is missing")
                }
                return (page, Place(position: reached, checksum: checksum))
            }
            guard let (found, reached) = page else {
                try log.forgetHistory()
                try goBack()
                place = acknowledged
                continue
            }
            note(found, from: place, to: reached)
            if !found.events.isEmpty || reached == place {
                return Delivery(events: found.events, place: reached)
            }
            place = reached
        }
    }

    /// Records a range without matching events, which is acknowledged once everything before the
    /// range has been acknowledged.
    private func note(_ page: EventPage, from: Place, to: Place) {
        let last = page.events.last?.position.rawValue
        if last == nil, let silence, silence.to == from {
            self.silence = (silence.from, to)
        } else {
            silence = (last ?? from.position, to)
        }
        guard let silence, (silence.from..<to.position).contains(acknowledged.position) else {
            return
        }
        acknowledged = to
        isUnwritten = true
        synchronizeLater()
    }

    private func acknowledge(_ event: EventEnvelope) throws(LogError) {
        if let failure { throw failure }
        guard phase != .ended else { throw LogError.isClosed }
        guard phase == .open else {
            if event.position > postponed?.position ?? .start { postponed = event }
            return
        }
        let position = event.position.rawValue
        guard let checksum = try checksum(of: event) else {
            throw LogError(
                .notFound,
                "event \(event.id) was acknowledged, but is not at position"
                    + " \(position) of this log",
                hint: "the log was restored to an earlier state: start another loop")
        }
        guard position > acknowledged.position else { return }
        if let silence, (silence.from..<silence.to.position).contains(position) {
            acknowledged = silence.to
        } else {
            acknowledged = Place(position: position, checksum: checksum)
        }
        isUnwritten = true
        try write()
    }

    /// Returns the checksum of an event's record; nil if another event is at its position.
    private func checksum(of event: EventEnvelope) throws(LogError) -> UInt32? {
        let position = event.position.rawValue
        return try log.read { transaction in
            guard let bytes = try transaction.get(self.log.tables.events, integer: position),
                try self.log.envelope(self.log.record(bytes, at: position)) == event
            else { return nil }
            return try self.log.checksum(at: position, transaction)
        }
    }

    /// Writes the acknowledged position.
    private func write() throws(LogError) {
        let place = acknowledged
        let mark = try LogError.wrapping {
            try log.environment.read { transaction -> SubscriptionMark? in
                guard try self.log.checksum(at: place.position, transaction) == place.checksum
                else { return nil }
                return SubscriptionMark(
                    position: place.position, checksum: place.checksum,
                    history: try self.log.historyMark(
                        through: place.position, change: 0, transaction))
            }
        }
        guard let mark else { return try LogError.wrapping { try goBack() } }
        marks.add(mark)
        try file?.write(marks)
        isUnwritten = false
        isUnsynced = true
        synchronizeLater()
    }

    /// Returns to the newest mark that is still valid.
    private func goBack() throws {
        let isHeld = try log.environment.read { transaction in
            try self.marks.goBack { try self.log.holds($0, transaction) }
        }
        acknowledged = Place(marks.newest)
        silence = nil
        isUnwritten = false
        guard !isHeld else { return }
        try file?.write(marks)
        isUnsynced = true
    }

    private func putOnDisk() {
        // If a write fails, the next acknowledgement reports the error. Until then, events may be
        // delivered again.
        if isUnwritten { try? write() }
        guard isUnsynced, (try? file?.synchronize()) != nil else { return }
        isUnsynced = false
    }

    private func synchronizeLater() {
        guard !willSynchronize else { return }
        willSynchronize = true
        queue.asyncAfter(deadline: .now() + LogSubscription.synchronizeDelay) { [weak self] in
            guard let self else { return }
            self.willSynchronize = false
            if self.phase == .open { self.putOnDisk() }
        }
    }

    /// Polls for events from other processes while a loop is waiting.
    private func pollLater() {
        guard !willPoll else { return }
        willPoll = true
        let seconds = EventLog.pollInterval / .seconds(1)
        queue.asyncAfter(deadline: .now() + seconds) { [weak self] in
            guard let self else { return }
            self.willPoll = false
            self.serveAll()
        }
    }
}

extension LogSubscription.Place {
    init(_ mark: SubscriptionMark) {
        self.init(position: mark.position, checksum: mark.checksum)
    }
}
