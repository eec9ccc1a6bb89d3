internal import Foundation
internal import Synchronization
public import TapedeckLog
public import TapedeckModel
internal import TapedeckSyncProtocol

/// The progress of a sync.
public struct SyncProgress: Hashable, Sendable {
    /// The number of events pushed so far.
    public var pushed: UInt64
    /// The number of events pulled so far.
    public var pulled: UInt64
    /// The number of entries on the server that this store has not read.
    public var toPull: UInt64
    /// The number of events in this store that the server lacks.
    public var toPush: UInt64
    /// The reason for the current wait and the time at which it ends, in milliseconds since 1970;
    /// nil if the sync is not waiting.
    public var wait: (reason: ErrorCode, message: String, until: UInt64)?
    /// Whether there is currently nothing to do.
    public var isSettled: Bool

    /// Returns whether two values are equal, ignoring the message of the wait.
    public static func == (left: SyncProgress, right: SyncProgress) -> Bool {
        left.pushed == right.pushed && left.pulled == right.pulled && left.toPull == right.toPull
            && left.toPush == right.toPush && left.wait?.reason == right.wait?.reason
            && left.wait?.until == right.wait?.until && left.isSettled == right.isSettled
    }

    /// Hashes the values that change most often.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(pushed)
        hasher.combine(pulled)
    }
}

/// Runs one `SyncSession`: performs the session's I/O and waits, and notifies the session when the
/// log or the server changes.
///
/// Accesses the log only on its own queue, never on the threads of tasks. An engine can run only
/// once.
public final class SyncEngine: Sendable {
    /// Options of an engine.
    public struct Options: Sendable {
        /// Whether to stay connected and keep syncing changes in both directions.
        public var isLive: Bool
        /// The number of consecutive failures after which the engine gives up; 0 to never give up.
        public var failuresMax: UInt32
        /// The maximum wait between two attempts, in milliseconds.
        public var backoffMax: UInt64

        /// Creates options; the defaults suit a one-time sync started by hand.
        public init(isLive: Bool = false, failuresMax: UInt32 = 3, backoffMax: UInt64 = 30_000) {
            self.isLive = isLive
            self.failuresMax = failuresMax
            self.backoffMax = backoffMax
        }
    }

    private enum Signal: Sendable {
        /// Something changed; see `pending`.
        case change
        case streamEnded(SyncFailure)
        case timer(UInt64)
        case wake
        case stop
    }

    /// The changes since the last check.
    ///
    /// Many changes are merged into one signal, so that a flood of them neither grows the queue nor
    /// delays other signals.
    private struct Pending: Sendable {
        var isLocal = false
        var head: UInt64?
        var isSignalled = false
    }

    private struct Stopping: Sendable {
        var isStopped = false
        var request: Task<Result<SyncResponse, SyncFailure>, Never>?
    }

    /// The interval at which the engine checks for appends by other processes.
    private static let pollInterval = Duration.milliseconds(20)

    private let log: EventLog
    private let box: SessionBox<SyncSession>
    private let connector: any SyncConnector
    private let options: Options
    private let stopping = Mutex(Stopping())
    private let pending = Mutex(Pending())
    private let signals: AsyncStream<Signal>
    private let send: AsyncStream<Signal>.Continuation

    /// Creates an engine for one store and one server.
    ///
    /// - Parameters:
    ///   - address: An address such as `http://127.0.0.1:8080`; it is also the name of the server in
    ///     the store.
    ///   - token: The token that identifies the user, without surrounding whitespace; never logged or
    ///     stored.
    ///
    /// Throws `SyncError` with `.usage` if the address or the token is invalid, and `LogError` with
    /// `.usage` if the store contains sample events (`storectl init --demo`).
    public convenience init(
        _ log: EventLog, server address: String, token: String, options: Options = Options()
    ) throws {
        do throws(SyncFailure) { _ = try HTTPHeader.bearer(token) } catch { throw SyncError(error) }
        try self.init(log, server: address, options: options) { token }
    }

    /// Creates an engine for one store and one server whose token can change during the sync.
    ///
    /// - Parameters:
    ///   - address: An address such as `http://127.0.0.1:8080`; it is also the name of the server in
    ///     the store.
    ///   - token: Returns the token that identifies the user; called before each request, on any
    ///     thread. The token is never logged or stored. An invalid token ends the sync (`.usage`).
    ///
    /// Throws `SyncError` with `.usage` if the address is invalid, and `LogError` with `.usage` if
    /// the store contains sample events (`storectl init --demo`).
    public convenience init(
        _ log: EventLog, server address: String, options: Options = Options(),
        token: @escaping @Sendable () -> String
    ) throws {
        let address = try HTTPAddress(address)
        try self.init(
            log, upstream: address.base, HTTPSyncConnector(address, token: token),
            options: options)
    }

    /// - Parameter connector: Creates the connector, which must be closed; called only if nothing
    ///   else can fail.
    package init(
        _ log: EventLog, upstream name: String,
        _ connector: @autoclosure () throws -> any SyncConnector, options: Options = Options()
    ) throws {
        try log.checkHasNoSamples()
        let session = try SyncSession(
            log, upstream: name,
            options: SyncState.Options(
                isLive: options.isLive, failuresMax: options.failuresMax,
                backoffMax: options.backoffMax))
        self.log = log
        box = SessionBox(session)
        self.connector = try connector()
        self.options = options
        (signals, send) = AsyncStream.makeStream()
    }

    /// Makes `run` return soon; events that have been delivered stay delivered.
    public func stop() {
        let request = stopping.withLock { state in
            state.isStopped = true
            return state.request
        }
        // Do not wait for the response to the current request.
        request?.cancel()
        send.yield(.stop)
    }

    /// Retries immediately instead of waiting, for example when the network is back or the user
    /// asks for a retry.
    public func wake() { send.yield(.wake) }

    /// Syncs until everything is delivered in both directions; a live engine runs until it is
    /// stopped.
    ///
    /// If the sync fails, the report's `failure` contains the reason: `.offline`, `.unauthorized`,
    /// `.protocolMismatch`, or another code from the server. Temporary failures are retried until
    /// `failuresMax` consecutive attempts have failed. Throws `LogError` if the store fails.
    public func run(
        progress: (@Sendable (SyncProgress) -> Void)? = nil
    ) async throws -> SyncReport {
        do {
            let report = try await drive(progress)
            await connector.close()
            return report
        } catch {
            await connector.close()
            throw error
        }
    }

    /// Reports how many events a sync would transfer in each direction.
    ///
    /// The cost is one handshake.
    public func preview() async throws -> SyncReport {
        do {
            let request: SyncRequest
            switch try await box.perform({ try $0.begin() }) {
            case .send(let first): request = first
            case .wait(let wait): throw SyncFailure(wait.reason, "\(wait.message)")
            case .end(let failure?): throw failure
            default: throw SyncFailure(.internalError, "the sync did not begin with a handshake")
            }
            let response = try await connector.send(request)
            await connector.close()
            return try await box.read { try $0.preview(response) }
        } catch let failure as SyncFailure {
            await connector.close()
            throw try await box.read { $0.named(failure) }
        } catch {
            await connector.close()
            throw error
        }
    }

    private func drive(
        _ progress: (@Sendable (SyncProgress) -> Void)?
    ) async throws -> SyncReport {
        var live: Task<Void, Never>?
        var watch: Task<Void, Never>?
        defer {
            live?.cancel()
            watch?.cancel()
        }
        var hasStream = false
        var timer: UInt64 = 0
        var ahead: RequestAhead?
        defer { ahead?.task.cancel() }
        var iterator = signals.makeAsyncIterator()
        var step = try await box.perform { try $0.begin() }
        while true {
            if let progress { progress(try await box.read { try $0.progress() }) }
            if case .end = step {
            } else if stopping.withLock(\.isStopped) || Task.isCancelled {
                step = try await box.perform { try $0.stop() }
            }
            switch step {
            case .send(let request):
                switch await answer(to: request, &ahead) {
                case .success(let response):
                    // Let the server prepare the next response while the current response is
                    // recorded.
                    let next = try await box.perform { try $0.requestAhead(response) }
                    ahead = next.map { RequestAhead(request: $0, task: begin($0)) }
                    step = try await box.perform { try $0.answered(response) }
                case .failure(let failure):
                    // A request cancelled by `stop` is not a failure.
                    let isStopped = stopping.withLock(\.isStopped) || Task.isCancelled
                    step = try await box.perform {
                        isStopped ? try $0.stop() : try $0.failed(failure)
                    }
                }
                continue
            case .end(let failure):
                return try await box.read { try $0.finalReport(failure) }
            case .wait(let wait):
                timer += 1
                let number = timer
                let send = send
                let now = log.now()
                Task {
                    try? await Task.sleep(
                        for: .milliseconds(wait.until > now ? wait.until - now : 0))
                    send.yield(.timer(number))
                }
            case .listen:
                if !hasStream {
                    hasStream = true
                    live = listen()
                }
                if watch == nil { watch = watchLog() }
            case .none: break
            }
            guard let signal = await iterator.next() else {
                step = try await box.perform { try $0.stop() }
                continue
            }
            switch signal {
            case .stop: step = try await box.perform { try $0.stop() }
            case .wake: step = try await box.perform { try $0.woken() }
            case .timer(let number) where number == timer:
                step = try await box.perform { try $0.woken() }
            case .timer: step = .none
            case .change: step = try await takeChanges()
            case .streamEnded(let failure):
                hasStream = false
                step = try await box.perform { try $0.liveEnded(failure) }
            }
        }
    }

    /// Records a change, and sends a signal unless one is pending.
    private func note(_ change: (inout Pending) -> Void) {
        let isNew = pending.withLock { pending in
            change(&pending)
            defer { pending.isSignalled = true }
            return !pending.isSignalled
        }
        if isNew { send.yield(.change) }
    }

    private func takeChanges() async throws -> SyncSession.Step {
        let changes = pending.withLock { pending in
            defer { pending = Pending() }
            return pending
        }
        return try await box.perform { session in
            var step = SyncSession.Step.none
            if let head = changes.head { step = try session.serverChanged(head: head) }
            if changes.isLocal, step == .none || step == .listen {
                step = try session.localChanged()
            }
            return step
        }
    }

    /// A request that was sent before the session asked for it.
    private struct RequestAhead {
        let request: SyncRequest
        let task: Task<Result<SyncResponse, SyncFailure>, Never>
    }

    /// Sends a request unless it has already been sent, and waits for the response; `stop` cancels
    /// the request.
    private func answer(
        to request: SyncRequest, _ ahead: inout RequestAhead?
    ) async -> Result<SyncResponse, SyncFailure> {
        let task: Task<Result<SyncResponse, SyncFailure>, Never>
        if let ahead, ahead.request == request {
            task = ahead.task
        } else {
            ahead?.task.cancel()
            task = begin(request)
        }
        ahead = nil
        // The engine may have been stopped after the task began but before `stop` could see the
        // task.
        let isStopped = stopping.withLock { state in
            state.request = task
            return state.isStopped
        }
        if isStopped { task.cancel() }
        defer { stopping.withLock { $0.request = nil } }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func begin(
        _ request: SyncRequest
    ) -> Task<Result<SyncResponse, SyncFailure>, Never> {
        let connector = connector
        return Task { () -> Result<SyncResponse, SyncFailure> in
            do throws(SyncFailure) {
                return .success(try await connector.send(request))
            } catch {
                return .failure(error)
            }
        }
    }

    private func listen() -> Task<Void, Never> {
        let (connector, send) = (connector, send)
        return Task { [self] in
            do throws(SyncFailure) {
                for await head in try await connector.heads() { note { $0.head = head } }
                throw SyncFailure(.offline, "the live connection ended")
            } catch {
                send.yield(.streamEnded(error))
            }
        }
    }

    /// Signals appends by this process immediately, and detects appends by other processes by
    /// polling.
    private func watchLog() -> Task<Void, Never> {
        let box = box
        let number = log.observeCommits { [weak self] _ in self?.note { $0.isLocal = true } }
        return Task { [self] in
            defer { log.stopObserving(number) }
            var seen = try? await box.read { try $0.log.currentHead() }
            while !Task.isCancelled {
                try? await Task.sleep(for: SyncEngine.pollInterval)
                let head = try? await box.read { try $0.log.currentHead() }
                if let head, head != seen { note { $0.isLocal = true } }
                seen = head
            }
        }
    }
}
