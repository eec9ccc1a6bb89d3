package import TapedeckModel
package import TapedeckProjections

/// Implements one kind of remote: a manifest, and pure mappings between requests and events.
///
/// A connector performs no I/O, keeps no state and reads no clock; the session does all of that.
/// The methods of a connector throw `SyncFailure`. The code `unauthorized` pauses the remote;
/// `throttled`, `unavailable` and `offline` are retried later; all other codes are final for the
/// request.
package protocol Connector: Sendable {
    /// The properties of this kind of remote.
    var manifest: ConnectorManifest { get }

    // MARK: Login

    /// Returns the next step of a login, based on the responses received so far.
    func login(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep

    /// Returns the next step of creating an account and logging in to it.
    ///
    /// Throws `.usage` if the system does not let other programs create accounts.
    func signUp(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep

    /// Returns the next step of linking another service to an account; the requests are authorized.
    ///
    /// Throws `.usage` if the system does not let other programs link services.
    func link(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep

    /// Returns the request that ends the sessions of an account; nil if the system does not support
    /// logging out.
    func logOutRequest(_ account: RemoteAccount) -> RemoteRequest?

    /// Returns the failure reported by the response to the logout request; nil if the response
    /// confirms that the sessions have ended, and `.unauthorized` if the token was already invalid.
    func logOutFailure(_ response: RemoteResponse) -> SyncFailure?

    /// Adds the account's credentials to a request; not called for the anonymous account.
    func authorize(
        _ request: inout RemoteRequest, _ account: RemoteAccount, _ moment: RequestMoment)

    // MARK: Reading

    /// Returns the feeds to read at `now` (in milliseconds since 1970), in reading order.
    ///
    /// The pages of a feed can link to more feeds.
    func feeds(_ account: RemoteAccount, now: UInt64) -> [RemotePage]

    /// Returns the time at which `feeds` may change without new events, in milliseconds since 1970;
    /// nil if they never change on their own.
    func turn(after now: UInt64) -> UInt64?

    /// Returns the request for a page.
    func request(for page: RemotePage, _ account: RemoteAccount) -> RemoteRequest

    /// Reads the content of a page.
    ///
    /// Throws if the entire document is invalid. The invalid parts of an otherwise valid document
    /// are listed in `refused`.
    func read(
        _ response: RemoteResponse, of page: RemotePage, _ account: RemoteAccount
    ) throws(SyncFailure) -> RemoteContent

    /// Returns the known entries that are missing from a list.
    ///
    /// Called for each list that was read completely. A removal is dated with the time at which the
    /// list was read, so that later observations override it.
    func removals(
        from list: WholeList, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> ListFindings

    /// Returns the number of entries that the store shows for a linked list; nil if the version of
    /// the list's links is not the number of its entries.
    ///
    /// A list is read again if the two numbers differ.
    func shownCount(of list: String, _ views: some ViewReader) throws -> Int?

    // MARK: Delivering

    /// The projections that `plan`, `derived`, `removals` and `shownCount` read in addition to the
    /// outbox.
    var lookups: [any Projection] { get }

    /// Returns the plan for delivering an intent to this remote, based on the current views.
    func plan(
        _ intent: Intent, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> DeliveryPlan

    /// Returns the name of the field that an intent sets, if a later intent of the same type and key
    /// that sets the same field replaces the intent; nil if the intent is not replaced.
    ///
    /// This function is for types whose events set different fields, such as the fields of a
    /// profile. If every event of a type sets the same value, the outbox declares a register.
    func field(setBy intent: EventEnvelope) -> String?

    /// Returns intents that are derived from rules rather than recorded as events, such as removing
    /// a mark after the video has been watched.
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
    ///   - taken: The remote ids that belong to other confirmed deliveries.
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
            .usage, "\(own: manifest.system) does not let other programs create accounts",
            hint: "sign up there, then run storectl login NAME")
    }

    package func link(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        throw SyncFailure(
            .usage, "\(own: manifest.system) does not let other programs link services",
            hint: "link the service there")
    }

    package func logOutRequest(_ account: RemoteAccount) -> RemoteRequest? { nil }

    package func logOutFailure(_ response: RemoteResponse) -> SyncFailure? { response.failure }

    package func removals(
        from list: WholeList, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> ListFindings { ListFindings() }

    package func shownCount(of list: String, _ views: some ViewReader) throws -> Int? { nil }

    package func field(setBy intent: EventEnvelope) -> String? { nil }

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

/// The properties of one kind of remote.
package struct ConnectorManifest: Sendable {
    /// The name of the connector, such as `shelby`.
    package var system: String
    /// The maximum number of requests within `rateWindow`.
    package var rateCount: Int
    /// The window of the rate limit, in milliseconds.
    package var rateWindow: UInt64
    /// The time, in milliseconds, within which the effect of an interrupted request may still
    /// appear.
    package var settling: UInt64
    /// The pauses, in milliseconds, between the passes of a live session over the remote's pages;
    /// the last pause is repeated.
    package var freshness: [UInt64]
    /// The tag kinds of the keys that this remote's intents belong to.
    package var intentKinds: [String]
    /// Whether the remote can be read without a login, as `RemoteAccount.anonymous`.
    ///
    /// If the remote can be read without a login, `plan` decides for each intent whether the intent
    /// needs one.
    package var isOpen: Bool
    /// Whether the remote supports logins.
    package var takesLogin: Bool
    /// Whether requests are signed with the time, so that the remote refuses them if the local
    /// clock is wrong.
    package var signsTime: Bool
    /// The rules for reading the pages of the remote.
    package var reading: ReadingRules

    package init(
        system: String, rateCount: Int, rateWindow: UInt64, settling: UInt64, freshness: [UInt64],
        intentKinds: [String], isOpen: Bool = false, takesLogin: Bool = true,
        signsTime: Bool = false, reading: ReadingRules = ReadingRules()
    ) {
        self.system = system
        self.rateCount = rateCount
        self.rateWindow = rateWindow
        self.settling = settling
        self.freshness = freshness
        self.intentKinds = intentKinds
        self.isOpen = isOpen
        self.takesLogin = takesLogin
        self.signsTime = signsTime
        self.reading = reading
    }
}

/// The rules for reading the pages of a remote.
///
/// A session reads the pages in passes. By default, each pass requests all pages, one after
/// another.
package struct ReadingRules: Sendable {
    /// Whether a feed with a single page is skipped while its last response is fresh according to
    /// `Cache-Control`.
    package var keepsFresh: Bool
    /// Whether all feeds are read before the pages that they link to.
    package var feedsComeFirst: Bool
    /// Whether the feeds are independent.
    ///
    /// If the feeds are independent, a feed that fails is tried again after the other feeds. If a
    /// feed keeps failing although other feeds can be read, the failing feed is skipped until the
    /// next pass. A feed that is not found no longer exists, so it is not requested again.
    package var feedsStandAlone: Bool
    /// The maximum number of linked pages to read in one pass; the others are read in later passes.
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

/// The part of a feed that a page shows, for a feed whose new rows appear only above existing rows.
///
/// Both times are on the remote's clock, in milliseconds since 1970.
package struct FeedSpan: Hashable, Sendable {
    /// The time before which no more new rows can appear.
    package var settled: Int64
    /// The time of the oldest row on the page.
    package var oldest: Int64

    package init(settled: Int64, oldest: Int64) {
        (self.settled, self.oldest) = (settled, oldest)
    }
}

/// A link to a feed.
package struct FeedLead: Hashable, Sendable {
    /// The first page of the feed.
    package var page: RemotePage
    /// The version of the feed's list; nil if the feed has no version and is read each time.
    ///
    /// A version that any device of the user has read is not read again, unless the version is the
    /// number of the list's entries; see `CountMark`.
    package var version: String?
    /// Whether the feed is empty; an empty feed is read only if an earlier version of it was read,
    /// or if the store shows entries of its list.
    package var isEmpty = false

    package init(_ page: RemotePage, version: String? = nil, isEmpty: Bool = false) {
        (self.page, self.version, self.isEmpty) = (page, version, isEmpty)
    }
}

/// The part of a list that a page shows.
package struct ListPart: Hashable, Sendable {
    /// Whether a page shows a complete list or only a part of the list.
    package enum Extent: Hashable, Sendable {
        /// The complete list.
        case whole
        /// The complete list, or only its newest entries if the list is long.
        case newest
        /// One page of the list; the pages of the feed together contain all entries, newest first.
        ///
        /// `total` is the number of entries of the list, if the remote reports it.
        case page(total: Int?)
    }

    /// The name of the list; unique in the remote.
    package var name: String
    /// The ids of the entries, in document order.
    package var entries: [String]
    package var extent: Extent

    /// The number of entries of the list, if the remote reports it.
    var total: Int? {
        if case .page(let total) = extent { return total }
        return nil
    }

    package init(_ name: String, _ entries: [String], _ extent: Extent) {
        (self.name, self.entries, self.extent) = (name, entries, extent)
    }
}

/// The known entries that are missing from a list.
package struct ListFindings: Sendable {
    /// Observations that record removals.
    package var removals: [ProposedEvent] = []
    /// Whether the list lacks known entries that may still be on the remote.
    package var isPartial = false
    /// Whether an entry counts as removed only if it was already missing in the previous complete
    /// reading of the list.
    package var needConfirmation = false

    package init(
        removals: [ProposedEvent] = [], isPartial: Bool = false, needConfirmation: Bool = false
    ) {
        (self.removals, self.isPartial) = (removals, isPartial)
        self.needConfirmation = needConfirmation
    }
}

/// A list that was read from its beginning to its end.
package struct WholeList: Sendable {
    package var name: String
    /// The ids of the entries.
    package var entries: Set<String>
    /// The time of the first response, in milliseconds since 1970 on the remote's clock.
    package var readAt: Int64
    /// The version of the link that led to the list; nil if the list was not linked.
    package var version: String?
    /// The number of entries according to the remote; nil if the remote does not report a number.
    package var total: Int?
    /// The number by which the remote's version exceeds the number of entries, if two readings in a
    /// row have shown the same difference; 0 otherwise, and negative if the version is too low.
    package var surplus = 0
    /// Whether several pages showed the same entry, so that another entry may have been on none.
    package var hasRepeats = false
    /// The entries of the lists that were read completely earlier in the same pass, by name.
    package var earlier: [String: Set<String>] = [:]
    /// Whether known entries that are older than all `entries` were also removed.
    ///
    /// False for a list that may show only its newest entries, unless the list became shorter.
    package var isComplete = true
}

/// The content of a page.
package struct RemoteContent: Sendable {
    /// The observations, in document order.
    package var observations: [ProposedEvent] = []
    /// The invalid parts of the document, each with its location and the error.
    package var refused: [FailureText] = []
    /// The next page; nil at the end.
    package var next: RemotePage?
    /// The part of the feed that the page shows, if new rows appear only above existing rows.
    package var span: FeedSpan?
    /// Whether rows can move between pages while the pages are read, so that a row could be missed.
    ///
    /// If rows can move, the pages are read again until they contain nothing new.
    package var moves = false
    /// The lists on the page; known entries that are missing from these lists were removed from the
    /// remote.
    package var lists: [ListPart] = []
    /// The feeds that this page links to.
    package var leads: [FeedLead] = []
    /// The name prefix of feeds that the remote does not have, and a message for the report.
    ///
    /// Feeds with this prefix are skipped for the rest of the pass.
    package var missing: (feeds: String, message: FailureText)?

    package init() {}
}

/// The values, besides the account, on which a request may depend.
///
/// The session passes these values to the connector, which keeps connectors pure.
package struct RequestMoment: Hashable, Sendable {
    /// The address of the remote.
    package var base: String
    /// The time on the remote's clock, in milliseconds since 1970.
    package var now: UInt64
    /// A random number, different for each request.
    package var nonce: UInt64

    package init(base: String, now: UInt64, nonce: UInt64) {
        self.base = base
        self.now = now
        self.nonce = nonce
    }
}

/// The next step of a login.
package enum LoginStep: Sendable {
    /// Send a request, with the account's credentials if an account is given.
    case send(RemoteRequest, as: RemoteAccount?)
    /// The login is complete; `observations` are facts about the account, without credentials.
    case done(RemoteAccount, observations: [ProposedEvent] = [])
}

/// A change that the user wants a remote to make.
package struct Intent: Hashable, Sendable {
    /// The event that requests the change, or from which a rule derives the change.
    package var event: EventEnvelope
    /// The key that the intent belongs to.
    package var key: Tag
    /// Whether a rule derived the intent from `event`; otherwise, `event` itself is the intent.
    package var isDerived: Bool

    package init(_ event: EventEnvelope, key: Tag, isDerived: Bool = false) {
        self.event = event
        self.key = key
        self.isDerived = isDerived
    }
}

/// An intent that a rule derives from an event.
package struct DerivedIntent: Hashable, Sendable {
    /// The row of the intent; pass it as `after` to continue reading.
    package var row: [UInt8]
    /// The event from which the intent is derived.
    package var event: EventID
    /// The key that the intent belongs to.
    package var key: Tag

    package init(row: [UInt8], event: EventID, key: Tag) {
        self.row = row
        self.event = event
        self.key = key
    }
}

/// The plan for delivering an intent to a remote.
package enum DeliveryPlan: Sendable {
    /// The intent concerns another remote.
    case foreign
    /// The remote is already in the requested state; the `Evidence` shows how this is known.
    case satisfied(Evidence)
    /// Required data is missing; the next pass over the remote's pages may provide it.
    case waiting(ErrorCode, String)
    /// The intent can never be delivered.
    case refused(ErrorCode, String)
    /// Send these requests in order; the outcome of each request is recorded separately.
    case deliver([Delivery])

    /// The requests that the plan may send.
    var deliveries: [Delivery] {
        switch self {
        case .deliver(let deliveries), .satisfied(.wholeFeed(_, let deliveries)): deliveries
        default: []
        }
    }
}

/// The evidence that a remote is already in a requested state.
///
/// Data that was read before the intent was recorded proves nothing, because the remote may have
/// been changed elsewhere in between.
package enum Evidence: Sendable {
    /// The requested state is permanent on the remote, or the request is no longer needed.
    case final
    /// The remote is in a permanent state that another program can have brought about in another
    /// way, such as a question that has an answer.
    ///
    /// Without a sign that a request for the intent was sent, the intent is refused.
    case sent(otherwise: ErrorCode, String)
    /// A feed that was read, at least up to its known rows, in a pass that began after the intent
    /// was recorded.
    ///
    /// If the feed has not been read since then, it is read first.
    case feed(String)
    /// A feed that was read completely in a pass that began after the intent was recorded.
    ///
    /// If the feed has not been read completely since then, the deliveries are sent.
    case wholeFeed(String, otherwise: [Delivery])
}

/// The protection against executing a delivery twice.
package enum DeliverySafety: String, Sendable {
    /// The request is idempotent.
    case natural
    /// Before a retry, a probe checks whether the delivery took effect.
    case probe
    /// No check is possible: after an ambiguous failure the outcome stays unknown.
    case once
}

/// A request that carries out an intent or part of it.
package struct Delivery: Hashable, Sendable {
    /// The name of the part of the intent; empty if the intent has only one part.
    package var target: String
    package var safety: DeliverySafety
    package var request: RemoteRequest
    /// The request that checks whether the delivery took effect; only for `.probe`.
    package var probe: RemoteRequest?
    /// The newest known id of this kind of object on the remote, passed to `find`.
    package var baseline: String
    /// Replaces `baseline` if another device may have sent the request.
    ///
    /// The newest known id may belong to the effect of that request, so the value is from before
    /// the intent; nil if `baseline` can be used.
    package var baselineOfOthers: String?
    /// Whether to probe before the first attempt too, because another program may have made the
    /// change.
    ///
    /// Only for `.probe`.
    package var isAskedFirst = false
    /// The feed that shows the change if the remote already has it; nil if no feed shows it.
    ///
    /// If the feed was read in a pass that began after the intent was recorded, `isAskedFirst` is
    /// ignored.
    package var shownBy: String?
    /// The time after the dispatch within which the effect may still appear, in milliseconds.
    ///
    /// Set only if the time is longer than the manifest's `settling`. Until the time has passed, a
    /// probe that finds nothing is repeated.
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
    /// The remote's id for the object; empty if there is no id.
    package var remoteID: String
    /// The remote's version of the object; 0 if there is no version.
    package var remoteVersion: UInt64
    /// Observations of the remote's new state, recorded together with the outcome.
    package var observations: [ProposedEvent]
    /// Whether the remote has made the change.
    ///
    /// If the remote has only accepted the request, or does not report whether it made the change,
    /// the delivery stays dispatched and its probe determines the outcome.
    package var isDone = true

    /// A result that leaves the outcome to the probe; only for `.probe`.
    package static var askLater: Confirmation {
        var confirmation = Confirmation()
        confirmation.isDone = false
        return confirmation
    }

    package init(
        remoteID: String = "", remoteVersion: UInt64 = 0, observations: [ProposedEvent] = []
    ) {
        self.remoteID = remoteID
        self.remoteVersion = remoteVersion
        self.observations = observations
    }
}

/// The result of a probe.
package enum ProbeResult: Sendable {
    case found(Confirmation)
    case missing
    /// The object may be on another page, which this request reads.
    case ask(RemoteRequest)
}
