public import TapedeckModel

/// The result of a sync with a remote.
public struct RemoteReport: Sendable {
    /// The number of intents, or parts of them, that the remote confirmed.
    public var pushed = 0
    /// The number of new observations.
    public var pulled = 0
    /// The parts of the remote's responses that could not be read.
    public var unreadable: [String] = []
    /// The features that the remote lacks, such as a part of its API; all other data was read.
    public var missing: [String] = []
    /// The number of pages that were skipped because their last response is still fresh.
    public var fresh = 0
    /// The earliest time at which a fresh page expires, in milliseconds since 1970; nil if no page
    /// is fresh.
    public var freshUntil: UInt64?
    /// The number of linked pages that are left for the next sync.
    public var unread = 0
    /// The number of refused intents that an earlier sync has already reported.
    public var refusedBefore = 0
    /// The intents that the remote has refused since the last report.
    public var refused: [(event: EventID, code: ErrorCode, message: String)] = []
    /// The intents that the remote neither confirmed nor refused, at most `waitingCountMax`, each
    /// with the reason.
    ///
    /// They include the intents with an unknown outcome, which a status counts as ended.
    public var waiting: [Waiting] = []
    /// The total number of the intents described by `waiting`.
    public var waitingCount = 0
    /// The reason why the sync ended early.
    public var failure: SyncError?
    /// The time from which the remote accepts requests again, in milliseconds since 1970, if the sync
    /// ended because the remote requested a long wait.
    public var until: UInt64?
    /// Whether a running sync has nothing to do until something changes.
    public var isSettled = false
    /// Whether reading takes longer because the remote accepts only a limited number of requests.
    package var isPaced = false
    /// The current wait of a running sync; nil if it is not waiting.
    package var wait: SyncWait?

    package init() {}

    /// The maximum number of intents in `waiting`.
    public static let waitingCountMax = 100

    /// A pending intent.
    public struct Waiting: Hashable, Sendable {
        /// The event of the intent.
        public var event: EventID
        /// The reason why the intent is pending, as a code.
        public var reason: ErrorCode
        /// The reason why the intent is pending, as a message.
        public var message: String
        /// The time at which the delivery continues, in milliseconds since 1970; nil if it does not
        /// continue automatically.
        public var until: UInt64?
    }
}
