internal import Foundation
public import TapedeckLog
public import TapedeckModel
public import TapedeckProjections
public import TapedeckSync
public import TapedeckVideo

/// Manages the remote systems of an open store: adding them, logging in, syncing, and inspecting
/// pending deliveries.
///
/// ```swift
/// func connect(_ directory: String) throws -> StoreRemotes {
///     let store = try TapedeckStore.open(
///         directory, projections: VideoProjections.standard.all + Connectors.projections)
///     let remotes = StoreRemotes(store.log, store.projections)
///     try remotes.add("home", system: "shelby", url: "https://api.example.org")
///     return remotes
/// }
///
/// func sync(_ remotes: StoreRemotes, password: String) async throws -> RemoteReport {
///     try await remotes.logIn("home", RemoteCredentials(user: "ada@example.org", password: password))
///     return try await remotes.sync("home")
/// }
/// ```
///
/// `add` blocks while it writes to the log, so async code cannot call it directly.
///
/// The store must include `Connectors.projections`. The list of remotes is part of the log and is
/// the same on all of the user's devices; each device keeps its own logins, in files next to the
/// log. Methods throw `SyncError`, `LogError` and `ProjectionError`. A store that contains sample
/// events (`storectl init --demo`) has no remotes: `add`, `checkLogin`, `logIn`, `link` and `sync`
/// throw `LogError` with `.usage`.
public struct StoreRemotes: Sendable {
    let log: EventLog
    let runner: ProjectionRunner
    let projections: VideoProjections
    let logins: LoginFiles

    /// The log of the store.
    package var eventLog: EventLog { log }

    /// Creates an instance for an open store.
    public init(
        _ log: EventLog, _ runner: ProjectionRunner, projections: VideoProjections = .standard
    ) {
        self.log = log
        self.runner = runner
        self.projections = projections
        logins = LoginFiles(log, runner) { system in
            try log.record(runner.signedOut(of: system, on: log.origin, projections))
        }
    }

    // MARK: - The list of remotes

    /// Returns all remotes, sorted by name.
    @available(*, noasync)
    public func all() throws -> [Remote] {
        try runner.read([Remotes().name]) { try Remotes.all($0) }
    }

    /// Deletes this device's logins that the user has ended on another device, by removing the
    /// remote, changing its address, or logging out everywhere.
    ///
    /// An ended login is never used again; the user is signed out on this device. Call this method
    /// after a sync with a server, so that the secrets do not stay on the disk; `sync`, `logIn` and
    /// `logOut` also call it.
    @available(*, noasync)
    public func removeEndedLogins() throws { try logins.removeEnded() }

    /// Returns whether a device has logins, without opening its projections.
    package static func hasLogins(in log: EventLog) -> Bool { LoginFiles.exist(in: log) }

    /// Returns the remote with the given name; throws `.notFound` if there is none.
    @available(*, noasync)
    public func named(_ name: String) throws -> Remote {
        let all = try all()
        guard let remote = all.first(where: { $0.name == name }) else {
            throw SyncError(
                .notFound, "there is no remote \"\(HTTPAddress.shown(name))\"",
                hint: all.isEmpty
                    ? "add one with storectl remote add NAME SYSTEM URL"
                    : "the remotes are \(all.map(\.name).joined(separator: ", "))")
        }
        return remote
    }

    /// Connects the store to an account on a remote system, for all of the user's devices.
    ///
    /// A store holds one account per system. Adding the same name with another address or other
    /// parts replaces them. A new address also signs the user out and ends the logins of all
    /// devices; each device deletes its login when it receives the change. After a removal, each
    /// device must log in again. Throws `SyncError` with `.usage`, or with `.conditionFailed` if
    /// the store already has another remote of the same system, or a remote of another system with
    /// the same name.
    ///
    /// - Parameter parts: The parts of the system to read. For TVmaze, these are schedules such as
    ///   `US`, `web` and `web-DE`, by default `US`. For Shelby's API v1, they are lists, as in
    ///   `changeLists`; adding the same remote again without parts keeps its lists. Other systems
    ///   have no parts.
    @available(*, noasync)
    @discardableResult
    public func add(
        _ name: String, system: String, url: String, parts: [String] = []
    ) throws -> Remote {
        try log.checkHasNoSamples()
        guard Connectors.systems.contains(system) else {
            throw SyncError(
                .usage, "unknown system \"\(system.prefix(80))\"",
                hint: "the systems are \(Connectors.systems.joined(separator: ", "))")
        }
        var remote = try Remote(checking: name, system: system, url: url)
        remote.parts = try Connectors.parts(of: system, url: remote.url, parts)
        let known = try all()
        let same = known.first {
            ($0.name, $0.system, $0.url) == (remote.name, remote.system, remote.url)
        }
        for other in known where other.name != name || other.system != system {
            if other.system == system {
                throw SyncError(
                    .conditionFailed,
                    "the store is already connected to \(system) as \(other.name)",
                    hint:
                        "a store holds one account per system: use another store, or remove \(other.name) first"
                )
            }
            if other.name == name {
                throw SyncError(
                    .conditionFailed, "\(name) is already a remote of \(other.system)",
                    hint: "use another name, or run storectl remote remove \(name) first")
            }
        }
        // An addition without parts would keep them; see `Remotes`.
        if let same, remote.parts.isEmpty || remote.parts == same.parts { return same }
        try LeaseClock.begin(in: eventLog)
        var added = RemoteAdded()
        added.name = remote.name
        added.system = remote.system
        added.url = remote.url
        added.parts = remote.parts
        var events: [ProposedEvent] = []
        if same == nil {
            // A login for one address must never be sent to another address.
            logins.remove(remote.name)
            events = try signedOut(of: system)
        }
        try log.record(events + [try ProposedEvent(added)])
        return remote
    }

    /// Changes which lists of a remote are read, on all of the user's devices.
    ///
    /// The next sync reads the new lists; a live sync reads them immediately. The videos of a list
    /// are in the `VideoGroup` of the same name, and `VideoQueries.lists` describes the lists.
    /// Videos that were already read from a removed list are kept.
    ///
    /// - Parameters:
    ///   - added: For Shelby's API v1, the names `following` (the rolls that the user follows),
    ///     `roll/ID` (the videos of a roll) and `dashboard/ID` (the dashboard of a user or channel),
    ///     at most 50 per remote.
    ///   - removed: The lists to stop reading.
    ///
    /// Returns the remote, whose `parts` are all of its lists. Throws `SyncError` and records
    /// nothing: `.notFound` for an unknown remote, or if the remote does not have one of the lists
    /// in `removed`; `.usage` for an unknown list, too many lists, or a remote whose lists cannot
    /// be chosen.
    @available(*, noasync)
    @discardableResult
    public func changeLists(
        of name: String, adding added: [String] = [], removing removed: [String] = []
    ) throws -> Remote {
        var remote = try named(name)
        guard Connectors.hasLists(remote.system, url: remote.url) else {
            throw SyncError(
                .usage, "the lists to read from \(remote.name) cannot be chosen",
                hint: "only remotes of \(Shelby.system) whose URL ends in /v1 have such lists")
        }
        // Lists can be removed even if this version does not know them or there are too many.
        if let unknown = removed.first(where: { !remote.parts.contains($0) }) {
            throw SyncError(
                .notFound, "\(unknown.prefix(40)) is not a list of \(remote.name)",
                hint: "storectl remote list shows the lists")
        }
        let kept = remote.parts.filter { !removed.contains($0) }
        let new = try Connectors.parts(of: remote.system, url: remote.url, added)
            .filter { !kept.contains($0) }
        if !new.isEmpty {
            _ = try Connectors.parts(of: remote.system, url: remote.url, kept + new)
        }
        let changes =
            Set(removed).subtracting(new).sorted().map { ($0, false) }
            + new.filter { !remote.parts.contains($0) }.map { ($0, true) }
        remote.parts = kept + new
        guard !changes.isEmpty else { return remote }
        try log.record(
            try changes.map { list, isOn in
                try ProposedEvent(
                    RemoteListToggled.with {
                        ($0.name, $0.list, $0.isOn) = (remote.name, list, isOn)
                    })
            })
        return remote
    }

    /// Removes a remote on all of the user's devices and signs the user out of it.
    ///
    /// The logins of all devices end, even if the remote is added again: each device deletes its
    /// login and ends its syncs when it receives the removal. Events that are already recorded stay
    /// in the log. Throws `SyncError` with `.notFound`.
    @available(*, noasync)
    public func remove(_ name: String) throws {
        let remote = try named(name)
        var removed = RemoteRemoved()
        removed.name = remote.name
        try log.record(try signedOut(of: remote.system) + [try ProposedEvent(removed)])
        logins.remove(remote.name)
        try RemoteRow.remove(remote.name, in: log)
    }

    /// Returns the state of the sync with a remote, without contacting the remote.
    @available(*, noasync)
    public func status(_ remote: Remote) throws -> RemoteStatus {
        let row = try RemoteRow.named(remote.name, in: log)
        let login = try logins.read(remote)
        let refusal = try connection(with: remote).refusal(of: login, at: remote)
        let wait = try NetworkState.current(in: log).wait() ?? row.wait
        var status = RemoteStatus(
            remote: remote, hasLogin: login?.account != nil,
            needsLogin: connector(for: remote)?.manifest.isOpen != true,
            contactedAt: row.contactedAt > 0 ? row.contactedAt : nil,
            readAt: row.readAt > 0 ? row.readAt : nil,
            reason: refusal?.code ?? wait?.reason, message: refusal?.message ?? wait?.message,
            until: refusal == nil ? wait?.end(after: log.now()) : nil)
        if status.reason == nil,
            let failed = try RemoteRow.failedReadings(remote.name, in: log).first
        {
            status.reason = failed.code
            status.message = "\(failed.feed) could not be read: \(failed.message)"
        }
        try outbox(of: remote) { delivery in
            if delivery.isOver { status.ended += 1 } else { status.undelivered += 1 }
            return true
        }
        return status
    }

    // MARK: - Sync

    /// Reads from a remote and delivers pending intents to it.
    ///
    /// - Parameters:
    ///   - isLive: Whether to continue until the task is cancelled.
    ///   - refreshesAll: Whether to request everything, including data that is still fresh.
    ///   - progress: Called after each step, on an unspecified thread.
    ///
    /// If the remote fails, the report's `failure` contains the reason; nothing is lost. Throws
    /// `SyncError` with `.notFound`, `.unauthorized` (the remote requires a login and there is
    /// none) or `.busy` (another process is syncing this store with the remote). Throws `LogError`
    /// if the store fails.
    public func sync(
        _ name: String, isLive: Bool = false, refreshesAll: Bool = false,
        progress: (@Sendable (RemoteReport) -> Void)? = nil
    ) async throws -> RemoteReport {
        let engine = try await offThread {
            try self.engine(name, isLive: isLive, refreshesAll: refreshesAll)
        }
        return try await withTaskCancellationHandler {
            try await engine.run(progress: progress)
        } onCancel: {
            engine.stop()
        }
    }

    /// The former name of `sync(_:isLive:refreshesAll:progress:)`.
    @available(*, deprecated, renamed: "sync(_:isLive:refreshesAll:progress:)")
    public func sync(
        _ name: String, isLive: Bool = false, asksAll: Bool,
        progress: (@Sendable (RemoteReport) -> Void)? = nil
    ) async throws -> RemoteReport {
        try await sync(name, isLive: isLive, refreshesAll: asksAll, progress: progress)
    }

    @available(*, noasync)
    private func engine(_ name: String, isLive: Bool, refreshesAll: Bool) throws -> RemoteEngine {
        try log.checkHasNoSamples()
        try removeEndedLogins()
        let (remote, connector) = try connector(of: name)
        let session = try RemoteSession(
            log, remote, connector, runner, outboxes: Connectors.outboxes, logins: logins,
            connection: connection(with: remote),
            options: RemoteSession.Options(
                isLive: isLive, failuresMax: isLive ? 0 : 3,
                // The caller is waiting for the end of a sync that is not live, so retry sooner.
                backoffMax: isLive ? 30_000 : 4_000), refreshesAll: refreshesAll)
        return try RemoteEngine(
            session, try HTTPRemoteTransport(base: remote.url), store: log.directory.path)
    }

    // MARK: - The outbox

    /// Calls `body` with each intent that is pending for a remote, was refused by it or is
    /// unconfirmed, until `body` returns false.
    @available(*, noasync)
    public func outbox(of remote: Remote, _ body: (RemoteDelivery) throws -> Bool) throws {
        guard let connector = connector(for: remote) else {
            return
        }
        try remoteOutbox(remote, connector).forEach { delivery, _, _ in try body(delivery) }
    }

    /// Returns a report of what a sync with a remote would send, without the network.
    ///
    /// Like a sync, the report lists only the refusals that no sync has reported yet; the next sync
    /// still lists them.
    ///
    /// Throws `SyncError` with `.notFound` if the remote does not exist.
    @available(*, noasync)
    public func preview(_ name: String) throws -> RemoteReport {
        let (remote, connector) = try connector(of: name)
        return try remoteOutbox(remote, connector).preview()
    }

    /// Retries an intent that was refused, that is waiting, or whose outcome is unknown.
    ///
    /// Throws `SyncError` with `.notFound` if no outbox contains the event.
    @available(*, noasync)
    public func retry(_ event: EventID) throws -> RemoteDelivery {
        try record(.retried, of: event)
    }

    /// Drops an intent: it is no longer delivered, but its event stays in the log.
    ///
    /// Throws `SyncError` with `.notFound` if no outbox contains the event.
    @available(*, noasync)
    public func drop(_ event: EventID) throws -> RemoteDelivery {
        try record(.dropped, of: event)
    }

    /// Returns the deliveries of an intent, one for each remote whose outbox still contains the
    /// intent.
    @available(*, noasync)
    public func deliveries(of event: EventID) throws -> [RemoteDelivery] {
        var found: [RemoteDelivery] = []
        for remote in try all() {
            try outbox(of: remote) { delivery in
                if delivery.event.id == event { found.append(delivery) }
                return true
            }
        }
        return found
    }

    @available(*, noasync)
    private func record(
        _ kind: OutcomeRecorded.Kind, of event: EventID
    ) throws -> RemoteDelivery {
        for remote in try all() {
            guard let connector = connector(for: remote) else {
                continue
            }
            let outbox = try remoteOutbox(remote, connector)
            var found: (RemoteDelivery, Tag)?
            try outbox.forEach { delivery, _, key in
                guard delivery.event.id == event else { return true }
                found = (delivery, key)
                return false
            }
            if let (delivery, key) = found {
                try outbox.record(kind, delivery, key: key)
                return delivery
            }
        }
        throw SyncError(
            .notFound, "no remote's outbox contains the event \(event)",
            hint: "storectl outbox lists the pending events")
    }

    @available(*, noasync)
    func remoteOutbox(
        _ remote: Remote, _ connector: any Connector
    ) throws -> RemoteOutbox {
        try RemoteOutbox(
            log, remote, connector, runner, outboxes: Connectors.outboxes,
            login: try logins.read(remote), connection: connection(with: remote))
    }

    @available(*, noasync)
    func connector(of name: String) throws -> (Remote, any Connector) {
        let remote = try named(name)
        guard let connector = connector(for: remote) else {
            throw SyncError(
                .usage,
                "the system of remote \(name), \(remote.system), is unknown to this program",
                hint: "use a newer version of this program")
        }
        return (remote, connector)
    }

    func connection(with remote: Remote) -> RemoteConnection {
        Connectors.connection(
            with: remote, runner, projections, blobs: BlobStore(store: log.directory.path))
    }

    func connector(for remote: Remote) -> (any Connector)? {
        Connectors.named(
            remote.system, url: remote.url, parts: remote.parts, projections: projections,
            blobs: BlobStore(store: log.directory.path))
    }

    /// Runs a blocking closure outside the threads of Swift concurrency.
    func offThread<R: Sendable>(
        _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { waiting in
            DispatchQueue.global(qos: .userInitiated).async {
                waiting.resume(with: Result(catching: body))
            }
        }
    }
}
