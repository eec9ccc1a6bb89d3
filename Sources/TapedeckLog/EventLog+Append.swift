internal import Foundation
internal import Synchronization
internal import TapedeckLMDB
@_spi(Core) public import TapedeckModel

/// # Group commit
///
/// Callers put requests into a queue. A drain takes all pending requests, writes them in one
/// transaction, commits it, and completes the requests. Only one drain runs at a time. A durable
/// append does not wait for a timer: while a commit waits for the disk, more requests accumulate. A
/// failed condition fails only its own request; a failed commit fails all requests in it.
extension EventLog {
    /// The maximum number of events in one append.
    public static let eventsPerAppendMax = 100_000

    /// The numbers of events and bytes after which a drain commits.
    ///
    /// The limits keep a transaction far below LMDB's limit on dirty pages.
    static let eventsPerCommitMax = 16_384
    static let bytesPerCommitMax = 16 << 20

    /// The maximum time that a `.buffered` append waits for a commit to share.
    static let bufferedDelay = DispatchTimeInterval.milliseconds(100)

    /// Records all or none of the events under this store's origin.
    ///
    /// - Parameters:
    ///   - events: 1 to `eventsPerAppendMax` events, which get consecutive positions.
    ///   - condition: A condition that makes the append fail if a conflicting event is already
    ///     recorded.
    ///   - durability: The point at which to return; see `Durability`.
    /// - Returns: The assigned ids and positions; nil for `.buffered` appends, which get their ids
    ///   and positions later.
    ///
    /// Throws `LogError`: `.conditionFailed`, `.tooLarge`, `.invalidTag`, `.invalidType`,
    /// `.invalidTime`, `.diskFull` (nothing was recorded; free some space and try again),
    /// `.readOnly`, `.closed`, and `.mustReopen` (an I/O error, or the files were replaced; the events may
    /// have been recorded).
    @discardableResult
    public func append(
        _ events: [ProposedEvent], condition: AppendCondition? = nil,
        durability: Durability = .durable
    ) async throws(LogError) -> AppendedEvents? {
        try EventLog.check(events)
        if durability == .buffered {
            try queue.add(
                AppendRequest(events, condition, isBuffered: true) { _ in }, drain: { self.drain() }
            )
            return nil
        }
        let result: Result<AppendedEvents, LogError> = await withCheckedContinuation { waiting in
            let request = AppendRequest(events, condition, isBuffered: false) {
                waiting.resume(returning: $0)
            }
            do throws(LogError) {
                try queue.add(request, drain: { self.drain() })
            } catch {
                waiting.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    /// Records events like `append`, but blocks the calling thread until they are on disk.
    @available(*, noasync)
    @discardableResult
    public func appendBlocking(
        _ events: [ProposedEvent], condition: AppendCondition? = nil
    ) throws(LogError) -> AppendedEvents {
        try EventLog.check(events)
        let done = DispatchSemaphore(value: 0)
        let box = Mutex<Result<AppendedEvents, LogError>>(.failure(.isClosed))
        let request = AppendRequest(events, condition, isBuffered: false) { result in
            box.withLock { $0 = result }
            done.signal()
        }
        // The calling thread has to wait anyway, so it does the work itself, which saves two thread
        // switches.
        if try queue.addHere(request) { queue.onWriter { self.drain(isHere: true) } }
        done.wait()
        return try box.withLock { $0 }.get()
    }

    /// Commits pending `.buffered` appends, and returns when they are on disk.
    @available(*, noasync)
    public func flush() {
        queue.flush { self.drain() }
        queue.waitUntilIdle()
    }

    /// Validates events before they reach the writer.
    package static func check(_ events: [ProposedEvent]) throws(LogError) {
        guard (1...eventsPerAppendMax).contains(events.count) else {
            throw LogError(
                .tooLarge, "cannot append \(events.count) events at once",
                hint: "append 1 to \(eventsPerAppendMax) events at a time")
        }
        for event in events {
            guard event.payload.count <= RecordLayout.payloadCountMax else {
                throw LogError(
                    .tooLarge,
                    "the \(event.type) is \(event.payload.count) bytes long; the limit is"
                        + " \(RecordLayout.payloadCountMax)",
                    hint: "keep large media outside the log and refer to it by its hash")
            }
            guard event.tags.count <= RecordLayout.tagsMax else {
                throw LogError(
                    .invalidTag, "an event of type \(event.type) has \(event.tags.count) tags",
                    hint: "use at most \(RecordLayout.tagsMax) tags")
            }
            guard event.type.isWellFormed else {
                throw LogError(
                    .invalidType,
                    "\"\(event.type.name.prefix(40))\" is not a valid event type name",
                    hint: "use letters, digits, dots and underscores, as in WatchLaterToggled")
            }
            guard event.atMilliseconds.map({ $0 <= Stamp.millisecondsMax }) ?? true else {
                throw LogError(
                    .invalidTime,
                    "an event of type \(event.type) has the invalid time \(event.atMilliseconds ?? 0) ms",
                    hint: "use a time before the year 10889")
            }
        }
    }

    /// Commits the `.buffered` appends that this process made before the call, so that readers see
    /// them.
    ///
    /// The cost is a commit if there are such appends; otherwise the call costs nothing. A call
    /// from the writer's queue, for example from a commit observer, commits nothing, so the caller
    /// sees only the events that are already on disk.
    package func settleBuffered() {
        queue.settleBuffered { self.drain() }
    }

    // MARK: - The writer

    /// Commits pending requests until there are none.
    ///
    /// - Parameter isHere: Whether this runs on a caller's thread. A caller's thread should not do
    ///   the work of other callers, so after its own commit, it leaves any waiting requests to the
    ///   writer's queue.
    func drain(isHere: Bool = false) {
        while let requests = queue.take(
            eventsMax: EventLog.eventsPerCommitMax, bytesMax: EventLog.bytesPerCommitMax)
        {
            let results: [Result<AppendedEvents, LogError>]
            do throws(LogError) {
                try queue.checkNotLatched()
                results = try commit(requests)
            } catch {
                if error.code == .inputOutput { queue.latch(error) }
                results = requests.map { _ in .failure(error) }
            }
            for (request, result) in zip(requests, results) { request.completion(result) }
            queue.finished(requests.count, buffered: requests.count(where: \.isBuffered))
            announce()
            if isHere, queue.hasWaiting { return queue.onWriterLater { self.drain() } }
        }
    }

    func announce() {
        notifyObservers()
        indexIfNeeded()
    }

    func notifyObservers() {
        let head = head
        for body in observers.withLock({ $0.isEmpty ? [] : Array($0.values) }) { body(head) }
    }

    /// Adopts the state after a commit, unless a later commit has already set a newer one.
    func adopt(_ after: LogState) {
        state.withLock { if after.knowsAll(of: $0) { $0 = after } }
    }

    private func commit(
        _ requests: [AppendRequest]
    ) throws(LogError) -> [Result<AppendedEvents, LogError>] {
        let (results, after) = try LogError.wrapping {
            try environment.write { transaction in
                var draft = try self.state(in: transaction)
                let results = try self.record(requests, transaction, &draft)
                return (results, draft)
            }
        }
        adopt(after)
        return results
    }

    private func record(
        _ requests: [AppendRequest], _ transaction: borrowing WriteTransaction,
        _ state: inout LogState
    ) throws -> [Result<AppendedEvents, LogError>] {
        // Conditions are checked before anything is written; each request sees the events of the
        // requests before it.
        var accepted: [ProposedEvent] = []
        var results: [Result<AppendedEvents, LogError>] = []
        let ownRow = state.ownRow
        for request in requests {
            if let condition = request.condition,
                let found = try conflict(with: condition, transaction, state, behind: accepted)
            {
                results.append(.failure(found))
                continue
            }
            let recorded = UInt64(accepted.count)
            results.append(
                .success(
                    AppendedEvents(
                        firstID: EventID(
                            origin: ownRow.id, sequence: ownRow.lastSequence + recorded + 1),
                        firstPosition: LogPosition(rawValue: state.head + recorded + 1),
                        count: request.events.count)))
            // Usually there is only one request, whose events need no copy.
            if accepted.isEmpty {
                accepted = request.events
            } else {
                accepted.append(contentsOf: request.events)
            }
        }
        guard !accepted.isEmpty else { return results }

        state = try write(accepted, now: options.now(), state, transaction)
        return results
    }

    /// Writes events under this store's origin, and returns the resulting state.
    func write(
        _ events: [ProposedEvent], now: UInt64, _ state: LogState,
        _ transaction: borrowing WriteTransaction
    ) throws -> LogState {
        var writer = RecordWriter(tables, state)
        let cursor = try transaction.cursor(tables.events)
        var clock = HybridClock(last: state.ownRow.clock)
        for (index, event) in events.enumerated() {
            let stamp =
                event.atMilliseconds.map { Stamp(milliseconds: $0) }
                ?? clock.tick(milliseconds: now)
            try writer.add(
                event, origin: state.own, stamp: stamp, endsCommit: index == events.count - 1,
                transaction, cursor)
        }
        writer.setClock(clock.last)
        return try finish(writer, transaction)
    }
}

/// A request to record events, with its completion.
final class AppendRequest: Sendable {
    let events: [ProposedEvent]
    let condition: AppendCondition?
    let isBuffered: Bool
    let completion: @Sendable (Result<AppendedEvents, LogError>) -> Void
    let byteCount: Int

    init(
        _ events: [ProposedEvent], _ condition: AppendCondition?, isBuffered: Bool,
        completion: @escaping @Sendable (Result<AppendedEvents, LogError>) -> Void
    ) {
        self.events = events
        self.condition = condition
        self.isBuffered = isBuffered
        self.completion = completion
        byteCount = events.reduce(0) { $0 + $1.payload.count + 100 }
    }
}

/// The queue of requests for the writer.
final class AppendQueue: @unchecked Sendable {
    // `condition` guards all properties of the queue.
    private var waiting: [AppendRequest] = []
    private var inFlight = 0
    private var isDraining = false
    private var hasTimer = false
    private var isSuspended = false
    private var wasClosed = false
    private var latched: LogError?
    private var isIndexing = false
    private var hint: UInt64 = 0
    /// The numbers of buffered requests added and completed so far; requests complete in order.
    private var bufferedAdded: UInt64 = 0
    private var bufferedDone: UInt64 = 0
    private let condition = NSCondition()
    private let writer = DispatchQueue(label: "tapedeck.log.writer", qos: .userInitiated)
    private static let isWriter = DispatchSpecificKey<ObjectIdentifier>()

    init() {
        writer.setSpecific(key: AppendQueue.isWriter, value: ObjectIdentifier(self))
    }

    private func locked<R>(_ body: () throws(LogError) -> R) throws(LogError) -> R {
        condition.lock()
        defer { condition.unlock() }
        return try body()
    }

    /// Adds a request; returns true if the caller has to drain the queue, in `onWriter`.
    func addHere(_ request: AppendRequest) throws(LogError) -> Bool {
        try locked { () throws(LogError) in
            try checkOpen()
            waiting.append(request)
            defer { isDraining = true }
            return !isDraining
        }
    }

    /// Runs `body` as the writer, on the calling thread if the writer is idle.
    func onWriter(_ body: () -> Void) { writer.sync { body() } }

    /// Runs `body` as the writer, asynchronously.
    func onWriterLater(_ body: @escaping @Sendable () -> Void) { writer.async { body() } }

    var hasWaiting: Bool {
        condition.lock()
        defer { condition.unlock() }
        return !waiting.isEmpty
    }

    /// Adds a request; runs `drain` on the writer's queue unless a drain is in progress.
    func add(_ request: AppendRequest, drain: @escaping @Sendable () -> Void) throws(LogError) {
        enum Wake { case now, soon, none }
        let wake = try locked { () throws(LogError) -> Wake in
            try checkOpen()
            waiting.append(request)
            if request.isBuffered { bufferedAdded += 1 }
            if isDraining { return .none }
            if request.isBuffered {
                if hasTimer { return .none }
                hasTimer = true
                return .soon
            }
            isDraining = true
            return .now
        }
        switch wake {
        case .now: writer.async { drain() }
        case .soon:
            writer.asyncAfter(deadline: .now() + EventLog.bufferedDelay) { self.flush(drain) }
        case .none: break
        }
    }

    /// Registers a write outside the queue; the writer must call `finished(1)` afterwards.
    func beginDirectWrite() throws(LogError) {
        try locked { () throws(LogError) in
            try checkOpen()
            inFlight += 1
        }
    }

    /// Throws if the queue is closed, suspended or stopped by an error; the caller holds the lock.
    private func checkOpen() throws(LogError) {
        if wasClosed || isSuspended { throw LogError.isClosed }
        try throwLatched()
    }

    private func throwLatched() throws(LogError) {
        guard let latched else { return }
        throw LogError(
            .mustReopen, "an earlier error has stopped this log: \(latched.message)",
            hint: "close the store and open it again", cause: latched)
    }

    func checkNotLatched() throws(LogError) {
        try locked { () throws(LogError) in try throwLatched() }
    }

    /// Starts a drain if requests are pending and no drain is in progress.
    func flush(_ drain: @escaping @Sendable () -> Void) {
        condition.lock()
        hasTimer = false
        let starts = !isDraining && !waiting.isEmpty
        if starts { isDraining = true }
        condition.unlock()
        if starts { writer.async { drain() } }
    }

    /// Takes as many requests as fit in a commit; returns nil at the end of the drain.
    func take(eventsMax: Int, bytesMax: Int) -> [AppendRequest]? {
        condition.lock()
        defer { condition.unlock() }
        guard !waiting.isEmpty else {
            isDraining = false
            condition.broadcast()
            return nil
        }
        var events = 0
        var bytes = 0
        var count = 0
        for request in waiting {
            events += request.events.count
            bytes += request.byteCount
            if count > 0, events > eventsMax || bytes > bytesMax { break }
            count += 1
        }
        inFlight += count
        defer {
            if count == waiting.count { waiting = [] } else { waiting.removeFirst(count) }
        }
        return count == waiting.count ? waiting : Array(waiting.prefix(count))
    }

    func finished(_ count: Int, buffered: Int = 0) {
        condition.lock()
        inFlight -= count
        bufferedDone += UInt64(buffered)
        condition.broadcast()
        condition.unlock()
    }

    /// Returns when all previously added buffered requests have been completed.
    func settleBuffered(_ drain: @escaping @Sendable () -> Void) {
        guard DispatchQueue.getSpecific(key: AppendQueue.isWriter) != ObjectIdentifier(self) else {
            return
        }
        condition.lock()
        let target = bufferedAdded
        let isSettled = bufferedDone >= target
        condition.unlock()
        guard !isSettled else { return }
        flush(drain)
        condition.lock()
        while bufferedDone < target { condition.wait() }
        condition.unlock()
    }

    func latch(_ error: LogError) {
        condition.lock()
        latched = error
        condition.unlock()
    }

    func suspend() {
        condition.lock()
        isSuspended = true
        condition.unlock()
    }

    func resume() {
        condition.lock()
        isSuspended = false
        condition.unlock()
    }

    var isClosed: Bool {
        condition.lock()
        defer { condition.unlock() }
        return wasClosed
    }

    /// Closes the queue; returns true for the first caller only.
    func close() -> Bool {
        condition.lock()
        defer { condition.unlock() }
        if wasClosed { return false }
        wasClosed = true
        return true
    }

    /// The position up to which the index is known to reach, which saves a lookup per commit.
    var indexedHint: UInt64 {
        get {
            condition.lock()
            defer { condition.unlock() }
            return hint
        }
        set {
            condition.lock()
            hint = newValue
            condition.unlock()
        }
    }

    /// Claims the indexing work until `endIndexing` is called; returns true for one caller at a
    /// time.
    func beginIndexing() -> Bool {
        condition.lock()
        defer { condition.unlock() }
        if isIndexing || isSuspended || wasClosed { return false }
        isIndexing = true
        return true
    }

    func endIndexing() {
        condition.lock()
        isIndexing = false
        condition.unlock()
    }

    /// Waits until no request is pending or being written; does not wait for the timer.
    func waitUntilIdle() {
        condition.lock()
        while isDraining || inFlight > 0 { condition.wait() }
        condition.unlock()
    }
}
