internal import Foundation
public import TapedeckLog
public import TapedeckModel
public import TapedeckProjections
public import TapedeckSync
public import TapedeckVideo

/// The remote systems of an open store: add them, log in, sync, and see what waits.
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
/// The store must include `Connectors.projections`. The list of remotes is part of the log and is the same on all of the
/// user's devices; each device keeps its own logins, in files beside the log. Errors are `SyncError`, `LogError` and
/// `ProjectionError`.
public struct StoreRemotes: Sendable {
    let log: EventLog
    let runner: ProjectionRunner
    let projections: VideoProjections
    let logins: LoginFiles

    /// The log on which it works.
    package var eventLog: EventLog { log }

    /// Works on a store that is open.
    public init(
        _ log: EventLog, _ runner: ProjectionRunner, projections: VideoProjections = .standard
    ) {
        self.log = log
        self.runner = runner
        self.projections = projections
        logins = LoginFiles(store: log.directory.path)
    }

    // MARK: - Which there are

    /// Every remote, by name.
    @available(*, noasync)
    public func all() throws -> [Remote] {
        try runner.read([Remotes().name]) { try Remotes.all($0) }
    }

    /// The remote of a name; throws `.notFound`.
    @available(*, noasync)
    public func named(_ name: String) throws -> Remote {
        let all = try all()
        guard let remote = all.first(where: { $0.name == name }) else {
            throw SyncError(
                .notFound, "there is no remote \"\(name.prefix(80))\"",
                hint: all.isEmpty
                    ? "storectl remote add NAME SYSTEM URL makes one"
                    : "there are \(all.map(\.name).joined(separator: ", "))")
        }
        return remote
    }

    /// Connects the store with an account of a remote system, on all of the user's devices.
    ///
    /// A store holds one account of a system. Adding the same name again changes its address, which ends
    /// the login there and signs the user out, and its parts. Throws `SyncError`: `.usage`,
    /// `.conditionFailed` (another remote has the system or the name).
    ///
    /// - Parameter parts: what of it is read: of TVmaze schedules such as `US`, `web` and `web-DE`, by default
    ///   `US`. Other systems have none.
    @available(*, noasync)
    @discardableResult
    public func add(
        _ name: String, system: String, url: String, parts: [String] = []
    ) throws -> Remote {
        guard Connectors.systems.contains(system) else {
            throw SyncError(
                .usage, "there is no system \"\(system.prefix(80))\"",
                hint: "known are \(Connectors.systems.joined(separator: ", "))")
        }
        let remote = try Remote(
            checking: name, system: system, url: url,
            parts: try Connectors.parts(of: system, parts))
        let known = try all()
        for other in known where other.name != name || other.system != system {
            if other.system == system {
                throw SyncError(
                    .conditionFailed, "the store is connected with \(system) as \(other.name)",
                    hint:
                        "a store holds one account of a system: use another store, or remove it first"
                )
            }
            if other.name == name {
                throw SyncError(
                    .conditionFailed, "\(name) is a remote of \(other.system)",
                    hint: "use another name, or storectl remote remove \(name) first")
            }
        }
        if known.contains(remote) { return remote }
        try LeaseClock.begin(in: eventLog)
        // What was meant for one address must not be sent to another.
        if !known.contains(where: { $0.name == name && $0.url == remote.url }) {
            logins.remove(remote.name)
        }
        var added = RemoteAdded()
        added.name = remote.name
        added.system = remote.system
        added.url = remote.url
        added.parts = remote.parts
        try log.record(try signedOut(of: system) + [try ProposedEvent(added)])
        return remote
    }

    /// Ends a connection, on all of the user's devices; what was recorded stays.
    ///
    /// The user is signed out there. Throws `SyncError`: `.notFound`.
    @available(*, noasync)
    public func remove(_ name: String) throws {
        let remote = try named(name)
        var removed = RemoteRemoved()
        removed.name = remote.name
        try log.record(try signedOut(of: remote.system) + [try ProposedEvent(removed)])
        logins.remove(remote.name)
        try RemoteRow.remove(remote.name, in: log)
    }

    /// How a remote stands, from the log alone.
    @available(*, noasync)
    public func status(_ remote: Remote) throws -> RemoteStatus {
        let row = try RemoteRow.named(remote.name, in: log)
        let login = try logins.read(remote)
        let wait = try NetworkState.current(in: log).wait() ?? row.wait
        var status = RemoteStatus(
            remote: remote, hasLogin: login?.account != nil,
            needsLogin: connector(for: remote)?.manifest.isOpen != true,
            contactedAt: row.contactedAt > 0 ? row.contactedAt : nil,
            readAt: row.readAt > 0 ? row.readAt : nil, reason: wait?.reason,
            message: wait?.message, until: wait.flatMap { $0.until > 0 ? $0.until : nil })
        try outbox(of: remote) { delivery in
            if delivery.isOver { status.ended += 1 } else { status.undelivered += 1 }
            return true
        }
        return status
    }

    // MARK: - Login

    /// Makes sure that one can log in at a remote.
    ///
    /// Throws `SyncError`: `.notFound`, `.usage` where its system takes no login.
    @available(*, noasync)
    public func checkLogin(at name: String) throws {
        let (remote, connector) = try connector(of: name)
        guard !connector.manifest.takesLogin else { return }
        throw SyncError(
            .usage, "\(name) is a remote of \(remote.system), which takes no login",
            hint: "storectl sync \(name) reads it without one")
    }

    /// Logs in, and keeps what is needed to do it again when the token ends.
    ///
    /// A store belongs to one account of a system, the one of the first login: what waits to be delivered must not be
    /// sent in another's name. That the user is signed in with the account is recorded unless it is so already.
    ///
    /// - Parameter isNew: whether the account is to be made first.
    /// - Returns: the remote's id of the account.
    ///
    /// Throws `SyncError`: `.notFound`, `.usage` (the system takes another kind of login, or makes accounts
    /// elsewhere), `.unauthorized`, `.conditionFailed` (a new account is there already, or the store belongs to another
    /// account), `.offline` and the other codes of a remote.
    @discardableResult
    public func logIn(
        _ name: String, _ credentials: RemoteCredentials, isNew: Bool = false
    ) async throws -> String {
        let (remote, connector) = try await offThread {
            try self.checkLogin(at: name)
            let found = try self.connector(of: name)
            // An account that is made only to be refused would be left there.
            if isNew,
                let own = try Connectors.connection(with: found.0, runner, projections).account()
            {
                throw SyncError(
                    .conditionFailed, "this store belongs to the account \(own) at \(name)",
                    hint: "log in as \(own), or make another store for a new account")
            }
            return found
        }
        let transport = try HTTPRemoteTransport(base: remote.url)
        let account: RemoteAccount
        do {
            account = try await logIn(
                remote, connector, credentials.secrets, isNew: isNew, transport)
        } catch {
            await transport.close()
            throw Self.named(error, remote, RemoteLogin(secrets: credentials.secrets))
        }
        await transport.close()
        return account.user
    }

    /// What a remote made impossible, as callers of this room know it.
    static func named(_ error: any Error, _ remote: Remote, _ login: RemoteLogin) -> any Error {
        guard let error = error as? SyncFailure else { return error }
        let failure = login.redacting(error)
        return SyncError(failure.code, failure.message, hint: failure.hint(for: remote))
    }

    private func logIn(
        _ remote: Remote, _ connector: any Connector, _ secrets: RemoteSecrets, isNew: Bool,
        _ transport: HTTPRemoteTransport
    ) async throws -> RemoteAccount {
        var answers: [RemoteResponse] = []
        while true {
            switch try step(connector, secrets, isNew: isNew, answers) {
            case .send(var request, let account):
                if let account, !account.isAnonymous {
                    connector.authorize(
                        &request, account,
                        RequestMoment(
                            base: remote.url, now: log.now(), nonce: .random(in: 0...(.max))))
                }
                var answer = try await transport.send(request)
                answer.receivedAt = Int64(clamping: log.now())
                answers.append(answer)
            case .done(let account, let sightings):
                try await signIn(account, at: remote)
                try logins.write(
                    RemoteLogin(secrets: secrets, account: account), for: remote)
                // What waited for the login goes on.
                try await offThread {
                    var row = try RemoteRow.named(remote.name, in: log)
                    row.wait = nil
                    row.contactedAt = log.now()
                    try log.record(sightings, rows: [row.row])
                }
                return account
            }
        }
    }

    /// What comes next in a login.
    ///
    /// Nobody has refused what never was sent: it is of the wrong form.
    private func step(
        _ connector: any Connector, _ secrets: RemoteSecrets, isNew: Bool,
        _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        do throws(SyncFailure) {
            return isNew
                ? try connector.signUp(secrets, answers) : try connector.login(secrets, answers)
        } catch {
            guard answers.isEmpty, error.code == .unauthorized else { throw error }
            throw SyncFailure(.usage, error.message, hint: error.hint)
        }
    }

    /// Records that the user is signed in with an account, and refuses another than the store's.
    ///
    /// Of two logins at once only one account wins. For an account whose name fits into no event only the login of this
    /// device is known.
    private func signIn(_ account: RemoteAccount, at remote: Remote) async throws {
        let former = try? logins.read(remote)?.account?.user
        guard let signIn = try? SignIn(account.user, at: remote.system) else {
            return try account.check(against: former, at: remote)
        }
        let projections = projections
        try await runner.decide(reading: [projections.accounts.name]) { views in
            let queries = VideoQueries(views, projections: projections)
            let own = try queries.ownAccount(at: remote.system)?.account
            try account.check(against: own ?? former, at: remote)
            return try signIn.decide(queries)
        }
    }

    /// What says that the user is signed in nowhere at a system.
    @available(*, noasync)
    func signedOut(of system: String) throws -> [ProposedEvent] {
        try runner.read([projections.accounts.name]) {
            try SignOut(at: system).decide(VideoQueries($0, projections: projections))
        }.map { try ProposedEvent($0) }
    }

    // MARK: - Sync

    /// Reads what the remote has and delivers what the user wants of it.
    ///
    /// - Parameters:
    ///   - isLive: whether to go on until the task is cancelled.
    ///   - asksAll: whether to ask also for what is fresh by what the remote said of it.
    ///   - progress: told of each step, on some thread.
    ///
    /// What the remote made impossible is in the report's `failure`; nothing is lost by it. Throws
    /// `SyncError`: `.notFound`, `.unauthorized` (nobody has logged in where that is needed), `.busy`
    /// (another process syncs with the remote for this store); `LogError` where the store fails.
    public func sync(
        _ name: String, isLive: Bool = false, asksAll: Bool = false,
        progress: (@Sendable (RemoteReport) -> Void)? = nil
    ) async throws -> RemoteReport {
        let engine = try await offThread {
            try self.engine(name, isLive: isLive, asksAll: asksAll)
        }
        return try await withTaskCancellationHandler {
            try await engine.run(progress: progress)
        } onCancel: {
            engine.stop()
        }
    }

    @available(*, noasync)
    private func engine(_ name: String, isLive: Bool, asksAll: Bool) throws -> RemoteEngine {
        let (remote, connector) = try connector(of: name)
        let session = try RemoteSession(
            log, remote, connector, runner, outboxes: Connectors.outboxes, logins: logins,
            connection: Connectors.connection(with: remote, runner, projections),
            options: RemoteSession.Options(
                isLive: isLive, failuresMax: isLive ? 0 : 3,
                // Somebody is looking: a remote that is back is noticed soon.
                backoffMax: isLive ? 30_000 : 4_000), asksAll: asksAll)
        return try RemoteEngine(
            session, try HTTPRemoteTransport(base: remote.url), store: log.directory.path)
    }

    // MARK: - The outbox

    /// Calls `body` with each intent that is not done at a remote, until it returns false.
    @available(*, noasync)
    public func outbox(of remote: Remote, _ body: (RemoteDelivery) throws -> Bool) throws {
        guard let connector = connector(for: remote) else {
            return
        }
        try remoteOutbox(remote, connector).forEach { delivery, _, _ in try body(delivery) }
    }

    /// Wants an intent tried again that was refused or of which nobody knows, or that waits.
    ///
    /// Throws `SyncError` with `.notFound` where no outbox has it.
    @available(*, noasync)
    public func retry(_ event: EventID) throws -> RemoteDelivery {
        try record(.retried, of: event)
    }

    /// Gives an intent up: it is delivered no more, and its event stays.
    ///
    /// Throws `SyncError` with `.notFound` where no outbox has it.
    @available(*, noasync)
    public func drop(_ event: EventID) throws -> RemoteDelivery {
        try record(.dropped, of: event)
    }

    /// What has become of an intent at the remotes whose outboxes still have it.
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

    /// The remotes that have no place for what an event wants, such as a comment where there are none.
    ///
    /// - Parameter deliveries: what the outboxes have of the event, as `deliveries(of:)` says.
    @available(*, noasync)
    public func withoutPlace(
        for event: EventEnvelope, besides deliveries: [RemoteDelivery]
    ) throws -> [Remote] {
        try remotes(of: event, besides: deliveries) { _, intent in
            try runner.standing(of: intent, in: Connectors.outboxes) != nil
        }
    }

    /// The remotes at which something that was wanted later has taken the place of what an event wants.
    ///
    /// - Parameter deliveries: what the outboxes have of the event, as `deliveries(of:)` says.
    @available(*, noasync)
    public func withoutNeed(
        of event: EventEnvelope, besides deliveries: [RemoteDelivery]
    ) throws -> [Remote] {
        try remotes(of: event, besides: deliveries) { remote, intent in
            let isIntent = Connectors.outboxes.contains {
                $0.tagKind == intent.key.kind && $0.isIntent(event.type)
            }
            guard isIntent, try runner.standing(of: intent, in: Connectors.outboxes) == nil,
                let connector = connector(for: remote)
            else { return false }
            let account = try logins.read(remote)?.account ?? RemoteAccount(user: "", token: "")
            let plan = try runner.read(connector.lookups.map(\.name)) {
                try connector.plan(intent, $0, account)
            }
            if case .foreign = plan { return false }
            return true
        }
    }

    /// The remotes that show what follows from an event by a rule.
    ///
    /// - Parameter deliveries: what the outboxes have of the event, as `deliveries(of:)` says.
    @available(*, noasync)
    public func showing(
        whatFollowsFrom event: EventEnvelope, besides deliveries: [RemoteDelivery]
    ) throws -> [Remote] {
        try remotes(of: event, besides: deliveries) { remote, intent in
            guard let connector = connector(for: remote) else { return false }
            return try runner.read(connector.lookups.map(\.name)) {
                try connector.showsWhatFollows(from: intent.event.id, of: intent.key, $0)
            }
        }
    }

    /// The remotes that have to do with a tag of an event, and of which `isMeant` says so.
    private func remotes(
        of event: EventEnvelope, besides deliveries: [RemoteDelivery],
        _ isMeant: (Remote, Intent) throws -> Bool
    ) throws -> [Remote] {
        let told = Set(deliveries.map(\.remote))
        return try all().filter { remote in
            guard !told.contains(remote.name) else { return false }
            let kinds = connector(for: remote)?.manifest.intentKinds ?? []
            return try event.tags.contains {
                try kinds.contains(String($0.kind)) && isMeant(remote, Intent(event, key: $0))
            }
        }
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
            .notFound, "no remote's outbox has the event \(event)", hint: "storectl outbox lists it"
        )
    }

    @available(*, noasync)
    private func remoteOutbox(
        _ remote: Remote, _ connector: any Connector
    ) throws -> RemoteOutbox {
        try RemoteOutbox(
            log, remote, connector, runner, outboxes: Connectors.outboxes,
            account: try logins.read(remote)?.account)
    }

    @available(*, noasync)
    func connector(of name: String) throws -> (Remote, any Connector) {
        let remote = try named(name)
        guard let connector = connector(for: remote) else {
            throw SyncError(
                .usage, "this program does not know the system \(remote.system) of \(name)",
                hint: "use a newer one")
        }
        return (remote, connector)
    }

    func connector(for remote: Remote) -> (any Connector)? {
        Connectors.named(
            remote.system, url: remote.url, parts: remote.parts, projections: projections,
            blobs: BlobStore(store: log.directory.path))
    }

    /// Runs what blocks beside the tasks' threads.
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

/// What a user logs in with.
///
/// It is never in the log, in an error or on a command line.
public struct RemoteCredentials: Sendable {
    let secrets: RemoteSecrets

    /// A name and a password.
    public init(user: String, password: String) {
        secrets = RemoteSecrets(user: user, password: password)
    }

    /// A token of OAuth and its secret, with what the remote knows this program by; without the space around them.
    public init(
        token: String, secret: String, consumerKey: String? = nil, consumerSecret: String? = nil
    ) {
        var secrets = RemoteSecrets(token: token.trimmingSpace, tokenSecret: secret.trimmingSpace)
        secrets.consumerKey = consumerKey?.trimmingSpace
        secrets.consumerSecret = consumerSecret?.trimmingSpace
        self.secrets = secrets
    }
}

/// How a store stands with a remote.
public struct RemoteStatus: Sendable {
    /// Which.
    public var remote: Remote
    /// Whether this device has logged in.
    public var hasLogin: Bool
    /// Whether nothing can be read there without a login.
    public var needsLogin: Bool
    /// When it answered last, in Unix milliseconds; nil for never.
    public var contactedAt: UInt64?
    /// When everything was read last, in Unix milliseconds; nil for never.
    public var readAt: UInt64?
    /// Why the last sync ended early.
    public var reason: ErrorCode?
    /// The same for people.
    public var message: String?
    /// When it is tried again, in Unix milliseconds; nil where that takes something else.
    public var until: UInt64?
    /// Intents that are to be delivered.
    public var undelivered = 0
    /// Intents that were refused, or of which nobody knows.
    public var ended = 0

    /// Whether everything that is wanted is done, and has been asked for.
    public var isUpToDate: Bool {
        readAt != nil && reason == nil && undelivered == 0 && ended == 0
    }
}
