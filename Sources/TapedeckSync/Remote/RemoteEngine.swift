internal import Dispatch
internal import Foundation
internal import Synchronization
internal import TapedeckLog
internal import TapedeckModel
internal import TapedeckProjections

/// Runs one `RemoteSession`: performs its I/O and its waits.
///
/// Only one engine per store and remote can run at a time, across all processes, because two
/// engines would deliver everything twice. An engine can run only once.
package final class RemoteEngine: Sendable {
    private let log: EventLog
    private let box: SessionBox<RemoteSession>
    private let transport: any RemoteTransport
    private let lock: RemoteLock
    private let state = Mutex((isStopped: false, task: Task<Void, Never>?.none))
    /// The end of the log at the session's last input.
    private let seen = Mutex(LogPosition(rawValue: 0))
    private let waker: CommitWaker

    /// The interval at which the engine checks for appends and logouts by other processes.
    private static let pollInterval = Duration.milliseconds(50)

    /// Creates an engine for a session.
    ///
    /// - Parameter transport: The transport, created after the lock is acquired; `run` closes it.
    ///
    /// Throws `SyncError` with `.busy` if another engine is syncing this store with the remote.
    package init(
        _ session: RemoteSession,
        _ transport: @autoclosure () throws(SyncError) -> any RemoteTransport, store: String
    ) throws(SyncError) {
        lock = try RemoteLock(store: store, session.remote.name, .sync)
        log = session.log
        box = SessionBox(session)
        self.transport = try transport()
        waker = CommitWaker(session.log)
    }

    /// Makes `run` return soon.
    ///
    /// A request in progress is abandoned, and the next sync checks whether it took effect.
    package func stop() {
        let task = state.withLock { state in
            state.isStopped = true
            return state.task
        }
        task?.cancel()
    }

    /// Runs the session until it ends.
    package func run(
        progress: (@Sendable (RemoteReport) -> Void)? = nil
    ) async throws -> RemoteReport {
        do {
            let report = try await drive(progress)
            await transport.close()
            return report
        } catch {
            await transport.close()
            throw error
        }
    }

    private func drive(
        _ progress: (@Sendable (RemoteReport) -> Void)?
    ) async throws -> RemoteReport {
        var step = try await perform { try $0.begin() }
        while true {
            if let progress {
                var report = try await box.read { $0.report }
                if case .idle = step { report.isSettled = true }
                if case .wait(let wait) = step { report.wait = wait }
                if case .pause = step { report.isPaced = true }
                progress(report)
            }
            if case .end = step {
            } else if isToEnd {
                step = try await perform { try $0.stop() }
            }
            switch step {
            case .send(let request):
                switch await answer(to: request) {
                case .success(let response):
                    step = try await perform { try $0.answered(response) }
                case .failure(let failure):
                    let isCutOff = isToEnd
                    step = try await perform {
                        isCutOff ? try $0.stop(cuttingOff: failure) : try $0.failed(failure)
                    }
                }
            case .wait(let wait):
                step = try await waited(until: wait.until)
            case .pause(let wait):
                await pause(until: instant(of: wait.until))
                step = try await perform { try $0.woken() }
            case .idle(let until):
                await pause(until: instant(of: until))
                step = try await perform { try $0.woken() }
            case .end: return try await box.read { $0.report }
            }
        }
    }

    /// Waits until the given time, or until the login or the remote is removed; other appends do
    /// not shorten the wait.
    private func waited(until: UInt64) async throws -> RemoteSession.Step {
        let end = instant(of: until)
        while true {
            await pause(until: end)
            let ended = try await box.perform { [self] session in
                let head = try log.currentHead()
                seen.withLock { $0 = head }
                return try session.endIfGone()
            }
            if let ended { return ended }
            if end <= .now || isToEnd { return try await perform { try $0.woken() } }
        }
    }

    /// Passes an input to the session.
    private func perform(
        _ body: @escaping @Sendable (inout RemoteSession) throws -> RemoteSession.Step
    ) async throws -> RemoteSession.Step {
        try await box.perform { [self] session in
            let head = try log.currentHead()
            seen.withLock { $0 = head }
            return try body(&session)
        }
    }

    private var isToEnd: Bool { state.withLock(\.isStopped) || Task.isCancelled }

    private func answer(
        to request: RemoteRequest
    ) async -> Result<RemoteResponse, SyncFailure> {
        let transport = transport
        let result = Mutex<Result<RemoteResponse, SyncFailure>?>(nil)
        await cancellable {
            let answer: Result<RemoteResponse, SyncFailure>
            do throws(SyncFailure) {
                answer = .success(try await transport.send(request))
            } catch {
                answer = .failure(error)
            }
            result.withLock { $0 = answer }
        }
        return result.withLock { $0 } ?? .failure(SyncFailure(.offline, "interrupted"))
    }

    /// Waits until a time, or until any process appends to the log or logs this device out.
    private func pause(until end: ContinuousClock.Instant) async {
        await cancellable { [self] in
            while !Task.isCancelled, end > .now, await !hasNews() {
                await waker.wait(atMost: min(end - .now, RemoteEngine.pollInterval))
            }
        }
    }

    /// Converts a wall-clock time to an instant at most `pauseMax` from now.
    private func instant(of time: UInt64) -> ContinuousClock.Instant {
        let now = log.now()
        let wait = time > now ? min(time - now, RemoteEngine.pauseMax) : 0
        return .now + .milliseconds(wait)
    }

    private func hasNews() async -> Bool {
        let news = try? await box.read { session in
            (head: try session.log.currentHead(), isLoggedOut: session.isLoggedOut)
        }
        return news?.head != seen.withLock(\.self) || news?.isLoggedOut == true
    }

    /// The interval at which the wall clock is read again during a long wait, because the clock may
    /// have been set.
    private static let pauseMax: UInt64 = 60_000

    private func cancellable(_ body: @escaping @Sendable () async -> Void) async {
        let task = Task(operation: body)
        let isStopped = state.withLock { state in
            state.task = task
            return state.isStopped
        }
        if isStopped { task.cancel() }
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        state.withLock { $0.task = nil }
    }
}
