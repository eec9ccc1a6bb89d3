package import TapedeckModel
package import TapedeckProjections

/// Implements one kind of remote: a manifest, and pure mappings between requests and events.
///
/// A connector has no I/O, state or clock; the session provides them. It throws `SyncFailure`:
/// `unauthorized` pauses the remote, `throttled`, `unavailable` and `offline` are retried later,
/// and all other codes are final for the request.
package protocol Connector: Sendable {
    /// The properties of the whole remote.
    var manifest: ConnectorManifest { get }

    // MARK: Login

    /// Returns the next step of a login, given the responses so far.
    func login(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep

    /// Returns the next step of creating an account and logging in to it.
    ///
    /// Throws `.usage` if the system does not let other programs create accounts.
    func signUp(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep

    /// Returns the request that ends the sessions of an account; nil if the system has none.
    func logOutRequest(_ account: RemoteAccount) -> RemoteRequest?

    /// Returns why a response to the logout request is not a success; nil if it is.
    func logOutFailure(_ response: RemoteResponse) -> SyncFailure?

    /// Adds the credentials of the account to a request; not called for the anonymous account.
    func authorize(
        _ request: inout RemoteRequest, _ account: RemoteAccount, _ moment: RequestMoment)

    // MARK: Reading

    /// Returns the feeds to read, in order, at a time in milliseconds since 1970; each can lead to
    /// more pages.
    func feeds(_ account: RemoteAccount, now: UInt64) -> [RemotePage]

    /// Returns the time at which `feeds` may change without new events, in milliseconds since 1970;
    /// nil for never.
    func turn(after now: UInt64) -> UInt64?

    /// Returns the request for a page.
    func request(for page: RemotePage, _ account: RemoteAccount) -> RemoteRequest

    /// Reads the content of a page.
    ///
    /// Throws if the document is invalid; invalid parts are listed in `refused`.
    func read(
        _ response: RemoteResponse, of page: RemotePage, _ account: RemoteAccount
    ) throws(SyncFailure) -> RemoteContent

    // MARK: Delivering

    /// The projections that `plan` and `derived` read, besides the outbox.
    var lookups: [any Projection] { get }

    /// Returns how to deliver an intent to this remote, based on the current views.
    func plan(
        _ intent: Intent, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> DeliveryPlan

    /// Returns intents that follow from rules instead of being events, such as removing a mark
    /// after a viewing.
    ///
    /// - Parameters:
    ///   - after: The row after which to continue; nil to start at the beginning.
    ///   - limit: The maximum number of intents.
    func derived(
        _ views: some ViewReader, after: [UInt8]?, limit: Int
    ) throws -> [DerivedIntent]

    /// Returns whether the remote already shows the effect of an intent derived from an event.
    func showsWhatFollows(
        from event: EventID, of key: Tag, _ views: some ViewReader
    ) throws -> Bool

    /// Reads the response to a delivery.
    func confirm(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent,
        _ account: RemoteAccount
    ) throws(SyncFailure) -> Confirmation

    /// Checks the response to `delivery.probe` for the effect of the delivery.
    ///
    /// - Parameters:
    ///   - baseline: The newest id before the dispatch, from `Delivery.baseline`.
    ///   - taken: The ids that belong to other confirmed deliveries.
    func find(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent, baseline: String,
        taken: Set<String>, _ account: RemoteAccount
    ) throws(SyncFailure) -> ProbeResult
}

extension Connector {
    package func turn(after now: UInt64) -> UInt64? { nil }

    package func signUp(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        throw SyncFailure(
            .usage, "\(manifest.system) does not let other programs create accounts",
            hint: "sign up there, then run storectl login NAME")
    }

    package func logOutRequest(_ account: RemoteAccount) -> RemoteRequest? { nil }

    package func logOutFailure(_ response: RemoteResponse) -> SyncFailure? { response.failure }

    package func derived(
        _ views: some ViewReader, after: [UInt8]?, limit: Int
    ) throws -> [DerivedIntent] { [] }

    package func showsWhatFollows(
        from event: EventID, of key: Tag, _ views: some ViewReader
    ) throws -> Bool { false }

    package func find(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent, baseline: String,
        taken: Set<String>, _ account: RemoteAccount
    ) throws(SyncFailure) -> ProbeResult { .missing }
}

/// The properties of a whole remote.
package struct ConnectorManifest: Sendable {
    /// The name of the connector, such as `shelby`.
    package var system: String
    /// The maximum number of requests within `rateWindow`.
    package var rateCount: Int
    /// The window of the rate limit, in milliseconds.
    package var rateWindow: UInt64
    /// The time for which the effect of an interrupted request may still appear, in milliseconds.
    package var settling: UInt64
    /// The pauses between readings of a watched remote, in milliseconds; the last one repeats.
    package var freshness: [UInt64]
    /// The tag kinds of the keys that this remote's intents belong to.
    package var intentKinds: [String]
    /// Whether the remote can be read without a login, as `RemoteAccount.anonymous`.
    ///
    /// If so, `plan` decides for each intent whether it needs a login.
    package var isOpen: Bool
    /// Whether the remote supports logins.
    package var takesLogin: Bool
    /// The rules for reading its pages.
    package var reading: ReadingRules

    package init(
        system: String, rateCount: Int, rateWindow: UInt64, settling: UInt64, freshness: [UInt64],
        intentKinds: [String], isOpen: Bool = false, takesLogin: Bool = true,
        reading: ReadingRules = ReadingRules()
    ) {
        self.system = system
        self.rateCount = rateCount
        self.rateWindow = rateWindow
        self.settling = settling
        self.freshness = freshness
        self.intentKinds = intentKinds
        self.isOpen = isOpen
        self.takesLogin = takesLogin
        self.reading = reading
    }
}

/// The rules for reading the pages of a remote; by default, all pages are read one by one each
/// time.
package struct ReadingRules: Sendable {
    /// Whether a feed with a single page is skipped while its last response is fresh according to
    /// `Cache-Control`.
    package var keepsFresh: Bool
    /// Whether all feeds are read before the pages that they lead to.
    package var feedsComeFirst: Bool
    /// Whether the feeds are independent.
    ///
    /// If one fails, the others are read first. If only that one keeps failing, it is skipped until
    /// the next reading.
    package var feedsStandAlone: Bool
    /// The maximum number of further pages per reading; the rest follow in the next one.
    package var leadsMax: Int

    package init(
        keepsFresh: Bool = false, feedsComeFirst: Bool = false, feedsStandAlone: Bool = false,
        leadsMax: Int = 100_000
    ) {
        self.keepsFresh = keepsFresh
        self.feedsComeFirst = feedsComeFirst
        self.feedsStandAlone = feedsStandAlone
        self.leadsMax = leadsMax
    }
}

/// A page to read, with a name that allows reading to resume after a crash.
package struct RemotePage: Hashable, Sendable {
    /// The feed, such as `broadcasts` or `answer/7/comments`.
    package var feed: String
    /// The position in the feed; empty for the first page.
    package var place: String

    package init(_ feed: String, _ place: String = "") {
        self.feed = feed
        self.place = place
    }
}

/// The content of a page.
package struct RemoteContent: Sendable {
    /// The observations, in document order.
    package var sightings: [ProposedEvent] = []
    /// The invalid parts of the document, each with its location and the error.
    package var refused: [String] = []
    /// The next page; nil at the end.
    package var next: RemotePage?
    /// Whether to skip `next` if this page contained nothing new.
    package var stopsWhereKnown = false
    /// Whether rows can move while pages are being read, so that one could be missed.
    ///
    /// If so, the pages are read again until they contain nothing new.
    package var moves = false
    /// Further pages that this page refers to; a page with an observation is only read if that
    /// observation is new.
    package var leads: [(page: RemotePage, sighting: Int?)] = []
    var others: [RemotePage] = []
    /// The prefix of feeds that the remote does not have, with a message; they are skipped in this
    /// reading.
    package var missing: (feeds: String, message: String)?

    package init() {}
}

/// The values that a request may depend on besides its account; passing them keeps connectors pure.
package struct RequestMoment: Hashable, Sendable {
    /// The address of the remote.
    package var base: String
    /// The time in milliseconds since 1970.
    package var now: UInt64
    /// A number that differs for each request.
    package var nonce: UInt64

    package init(base: String, now: UInt64, nonce: UInt64) {
        self.base = base
        self.now = now
        self.nonce = nonce
    }
}

/// The next step of a login.
package enum LoginStep: Sendable {
    /// Send a request; with an account, the request is authorized for it.
    case send(RemoteRequest, as: RemoteAccount?)
    /// The login is complete; `sightings` are facts about the account, without credentials.
    case done(RemoteAccount, sightings: [ProposedEvent] = [])
}

/// A change that the user wants a remote to make.
package struct Intent: Hashable, Sendable {
    /// The event that requests the change, or from which it follows.
    package var event: EventEnvelope
    /// The key that the intent belongs to.
    package var key: Tag
    /// Whether it follows from a rule instead of being an event.
    package var isDerived: Bool

    package init(_ event: EventEnvelope, key: Tag, isDerived: Bool = false) {
        self.event = event
        self.key = key
        self.isDerived = isDerived
    }
}

/// An intent that follows from a rule.
package struct DerivedIntent: Hashable, Sendable {
    /// The row of the intent, from which reading can continue.
    package var row: [UInt8]
    /// The event from which it follows.
    package var event: EventID
    /// The key that the intent belongs to.
    package var key: Tag

    package init(row: [UInt8], event: EventID, key: Tag) {
        self.row = row
        self.event = event
        self.key = key
    }
}

/// The way to deliver an intent to a remote.
package enum DeliveryPlan: Sendable {
    /// The intent concerns another remote.
    case foreign
    /// The remote is already in the requested state.
    case satisfied
    /// Required data is missing; the next reading may provide it.
    case waiting(ErrorCode, String)
    /// The intent can never be delivered.
    case refused(ErrorCode, String)
    /// Send these requests in order; each is a separate target.
    case deliver([Delivery])
}

/// The protection of a delivery against being executed twice.
package enum DeliverySafety: String, Sendable {
    /// Idempotent.
    case natural
    /// Before a retry, a probe checks whether the delivery took effect.
    case probe
    /// No check is possible: after an ambiguous failure the outcome stays unknown.
    case once
}

/// A request that carries out an intent or part of it.
package struct Delivery: Hashable, Sendable {
    /// The part of the intent; empty if there is only one.
    package var target: String
    package var safety: DeliverySafety
    package var request: RemoteRequest
    /// The request that checks whether the delivery took effect; only for `.probe`.
    package var probe: RemoteRequest?
    /// The newest known id of this kind of object at the remote, passed to `find`.
    package var baseline: String
    /// Whether to probe before the first attempt too, because another program may have made the
    /// change.
    ///
    /// Only for `.probe`.
    package var isAskedFirst = false
    /// The time for which the effect may still appear after the dispatch, in milliseconds.
    ///
    /// Set only if it is longer than the manifest's `settling`; probes are sent in between.
    package var settling: UInt64?

    package init(
        target: String = "", safety: DeliverySafety, request: RemoteRequest,
        probe: RemoteRequest? = nil, baseline: String = ""
    ) {
        self.target = target
        self.safety = safety
        self.request = request
        self.probe = probe
        self.baseline = baseline
    }
}

/// The result of a delivery.
package struct Confirmation: Sendable {
    /// The remote's id of the object; empty if it has none.
    package var remoteID: String
    /// The remote's version of the object; 0 if it has none.
    package var remoteVersion: UInt64
    /// The new state of the remote, recorded together with the outcome.
    package var sightings: [ProposedEvent]
    /// Whether the remote has made the change.
    ///
    /// If it has only accepted the request, or does not say, the delivery stays dispatched and its
    /// probe determines the outcome.
    package var isDone = true

    /// A result that leaves the outcome to the probe; only for `.probe`.
    package static var askLater: Confirmation {
        var confirmation = Confirmation()
        confirmation.isDone = false
        return confirmation
    }

    package init(
        remoteID: String = "", remoteVersion: UInt64 = 0, sightings: [ProposedEvent] = []
    ) {
        self.remoteID = remoteID
        self.remoteVersion = remoteVersion
        self.sightings = sightings
    }
}

/// The result of a probe.
package enum ProbeResult: Sendable {
    case found(Confirmation)
    case missing
    /// The object may be on another page.
    case ask(RemoteRequest)
}
