package import TapedeckModel
package import TapedeckProjections

/// What speaks with one kind of remote: a manifest, and pure mappings between requests and events.
///
/// A connector does no input or output, keeps no state and knows no clock; the session does all of
/// that. Its errors are `SyncFailure`s: the code says what is to be done (`unauthorized` pauses the
/// remote, `throttled`, `unavailable` and `offline` wait, all others are final for what was asked).
package protocol Connector: Sendable {
    /// What holds for the whole of the remote.
    var manifest: ConnectorManifest { get }

    // MARK: Login

    /// The next step of a login, after the answers so far.
    func login(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep

    /// The next step of making an account, which logs in as well.
    ///
    /// Throws `.usage` where the system makes accounts elsewhere.
    func signUp(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep

    /// What ends the sessions of an account at the remote; nil if the system cannot be asked to.
    func logOutRequest(_ account: RemoteAccount) -> RemoteRequest?

    /// Why the answer to such a request does not say that the sessions are over; nil if it does.
    func logOutFailure(_ response: RemoteResponse) -> SyncFailure?

    /// Adds what shows a request to be the account's own; never asked for an anonymous one.
    func authorize(
        _ request: inout RemoteRequest, _ account: RemoteAccount, _ moment: RequestMoment)

    // MARK: Reading

    /// Where reading begins at a time, in Unix milliseconds, in this order; each leads to more pages.
    func feeds(_ account: RemoteAccount, now: UInt64) -> [RemotePage]

    /// When `feeds` may be others by the time alone, in Unix milliseconds; nil for never.
    func turn(after now: UInt64) -> UInt64?

    /// What asks for a page.
    func request(for page: RemotePage, _ account: RemoteAccount) -> RemoteRequest

    /// What an answer says. A document that cannot be read is a failure; a part of it that cannot is
    /// counted in `refused`.
    func read(
        _ response: RemoteResponse, of page: RemotePage, _ account: RemoteAccount
    ) throws(SyncFailure) -> RemoteContent

    // MARK: Delivering

    /// The projections beside the outbox that `plan` and `derived` look things up in.
    var lookups: [any Projection] { get }

    /// What an intent means for this remote, by what is known now.
    func plan(
        _ intent: Intent, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> DeliveryPlan

    /// Intents that follow from rules and are no events of their own, such as the one by which a viewing
    /// takes a mark away.
    ///
    /// - Parameters:
    ///   - after: the row behind which to go on; nil begins at the front.
    ///   - limit: at most so many.
    func derived(
        _ views: some ViewReader, after: [UInt8]?, limit: Int
    ) throws -> [DerivedIntent]

    /// Whether the remote shows what follows from an event by a rule, so that nothing is left to do of it.
    func showsWhatFollows(
        from event: EventID, of key: Tag, _ views: some ViewReader
    ) throws -> Bool

    /// Reads the answer to a delivery that arrived.
    func confirm(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent,
        _ account: RemoteAccount
    ) throws(SyncFailure) -> Confirmation

    /// Looks in the answer to `delivery.probe` whether the delivery took effect.
    ///
    /// - Parameters:
    ///   - baseline: the newest id before it was dispatched, as `Delivery.baseline` gave it.
    ///   - taken: ids that other deliveries have been confirmed with.
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
            .usage, "\(manifest.system) makes no accounts for other programs",
            hint: "sign up there, then storectl login NAME")
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

/// What holds for the whole of a remote.
package struct ConnectorManifest: Sendable {
    /// The connector's name, such as `shelby`.
    package var system: String
    /// The most requests within `rateWindow`.
    package var rateCount: Int
    /// In milliseconds.
    package var rateWindow: UInt64
    /// How long after a request that was cut off its effect may still show, in milliseconds.
    package var settling: UInt64
    /// How long to wait between readings while it is watched, in milliseconds; the last one repeats.
    package var freshness: [UInt64]
    /// The kinds of tags under whose keys this remote's intents lie.
    package var intentKinds: [String]
    /// Whether it can be read by somebody who has not logged in, as `RemoteAccount.anonymous`.
    ///
    /// Then `plan` says of each intent whether it waits for a login.
    package var isOpen: Bool
    /// Whether one can log in there.
    package var takesLogin: Bool
    /// How its pages are read.
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

/// How the pages of a remote are read, where that differs from one after another, each time.
package struct ReadingRules: Sendable {
    /// Whether a feed of one page is not asked for again while its answer is fresh, by `Cache-Control`.
    package var keepsFresh: Bool
    /// Whether all feeds are read before anything that their pages lead to.
    package var feedsComeFirst: Bool
    /// Whether the feeds have nothing to do with each other: where the remote fails at one, the others are
    /// read first, and where it fails at that one alone, it is left to the next reading.
    package var feedsStandAlone: Bool
    /// The most that one reading reads of what pages lead to; the rest is left to the next one.
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

/// A page of something that is read, named so that reading can go on after a crash.
package struct RemotePage: Hashable, Sendable {
    /// What is read, such as `broadcasts` or `answer/7/comments`.
    package var feed: String
    /// Which part of it; empty for the first.
    package var place: String

    package init(_ feed: String, _ place: String = "") {
        self.feed = feed
        self.place = place
    }
}

/// What a page holds.
package struct RemoteContent: Sendable {
    /// Sightings, in the order of the document.
    package var sightings: [ProposedEvent] = []
    /// Parts of the document that could not be read: where, and what is wrong.
    package var refused: [String] = []
    /// The page behind this one; nil at the end.
    package var next: RemotePage?
    /// Whether `next` is needless where this page said nothing new.
    package var stopsWhereKnown = false
    /// Whether rows may move while the pages are read, so that one may be missed; then they are read
    /// again until they show nothing new.
    package var moves = false
    /// Other things that this page shows to be there, to be read behind it; one that belongs to a
    /// sighting only where that is news.
    package var leads: [(page: RemotePage, sighting: Int?)] = []
    var others: [RemotePage] = []
    /// What those feeds begin with that the remote turns out not to have, and that for people: none of them
    /// is asked for in this reading.
    package var missing: (feeds: String, message: String)?

    package init() {}
}

/// What a request may depend on besides its account: values, so that connectors stay pure.
package struct RequestMoment: Hashable, Sendable {
    /// The remote's address.
    package var base: String
    /// Unix milliseconds.
    package var now: UInt64
    /// Any number; another one for each request.
    package var nonce: UInt64

    package init(base: String, now: UInt64, nonce: UInt64) {
        self.base = base
        self.now = now
        self.nonce = nonce
    }
}

/// How a login goes on.
package enum LoginStep: Sendable {
    /// A request; with an account it is authorized as that account's own.
    case send(RemoteRequest, as: RemoteAccount?)
    /// The login, and what the answers show of the account: facts, and nothing that signs in.
    case done(RemoteAccount, sightings: [ProposedEvent] = [])
}

/// What the user wants of a remote.
package struct Intent: Hashable, Sendable {
    /// The event that says so, or that it follows from.
    package var event: EventEnvelope
    /// The key under which it lies.
    package var key: Tag
    /// Whether it follows from a rule and is no event of its own.
    package var isDerived: Bool

    package init(_ event: EventEnvelope, key: Tag, isDerived: Bool = false) {
        self.event = event
        self.key = key
        self.isDerived = isDerived
    }
}

/// An intent that follows from a rule.
package struct DerivedIntent: Hashable, Sendable {
    /// The row that tells of it, to go on from.
    package var row: [UInt8]
    /// The event from which it follows.
    package var event: EventID
    /// The key under which it lies.
    package var key: Tag

    package init(row: [UInt8], event: EventID, key: Tag) {
        self.row = row
        self.event = event
        self.key = key
    }
}

/// What an intent means for a remote.
package enum DeliveryPlan: Sendable {
    /// It concerns another remote.
    case foreign
    /// The remote is as the intent wants it.
    case satisfied
    /// Something is missing; the next reading may bring it.
    case waiting(ErrorCode, String)
    /// It makes no sense there, whatever comes.
    case refused(ErrorCode, String)
    /// Requests to send, one after another; each is a target of its own.
    case deliver([Delivery])
}

/// How a delivery can be made safe against being done twice.
package enum DeliverySafety: String, Sendable {
    /// Doing it twice is doing it once.
    case natural
    /// Before it is done again, the remote is asked whether it was done.
    case probe
    /// Nothing tells: after a doubtful failure it is left as unknown.
    case once
}

/// One request that carries an intent out, or a part of it.
package struct Delivery: Hashable, Sendable {
    /// Which part of the intent; empty where it has one only.
    package var target: String
    package var safety: DeliverySafety
    package var request: RemoteRequest
    /// What tells whether it was done; only for `.probe`.
    package var probe: RemoteRequest?
    /// The remote's newest id of such things that is known, kept for `find`.
    package var baseline: String
    /// Whether the remote is asked before the first time too: somebody else may have done it.
    ///
    /// Only for `.probe`.
    package var isAskedFirst = false
    /// How long after it was dispatched its effect may still show, in milliseconds, where that is longer
    /// than the manifest's `settling`; it is asked for in between.
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

/// What came of a delivery.
package struct Confirmation: Sendable {
    /// The remote's name of it; empty where it has none.
    package var remoteID: String
    /// The version of it that the remote showed; 0 where it has none.
    package var remoteVersion: UInt64
    /// What the remote now says, recorded together with the outcome.
    package var sightings: [ProposedEvent]
    /// Whether the remote has done it.
    ///
    /// Where it has merely taken it on, or does not tell, the delivery
    /// stays dispatched and its probe says what came of it.
    package var isDone = true

    /// The remote answered, and the answer does not say that it was done; only for `.probe`.
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

/// What a look at the remote has shown.
package enum ProbeResult: Sendable {
    case found(Confirmation)
    case missing
    /// It may be on another page.
    case ask(RemoteRequest)
}
