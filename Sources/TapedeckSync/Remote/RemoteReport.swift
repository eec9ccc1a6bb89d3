public import TapedeckModel

/// What a sync with a remote has done.
public struct RemoteReport: Sendable {
    /// Intents, or parts of them, that the remote has confirmed.
    public var pushed = 0
    /// Sightings that said something new.
    public var pulled = 0
    /// Parts of the remote's answers that could not be read.
    public var unreadable: [String] = []
    /// What the remote turned out not to have, such as a part of its API; the rest was read.
    public var missing: [String] = []
    /// Pages that were not asked for, as what was read of them is fresh still.
    public var fresh = 0
    /// When the first of these is no longer fresh, in Unix milliseconds; nil where there are none.
    public var freshUntil: UInt64?
    /// Pages that others have led to and that are left to the next sync.
    public var unread = 0
    /// What the remote will not do.
    public var refused: [(event: EventID, code: ErrorCode, message: String)] = []
    /// What has not been delivered, and why; at most `waitingCountMax`.
    public var waiting: [Waiting] = []
    /// How many intents have not been delivered.
    public var waitingCount = 0
    /// Why the sync ended early.
    public var failure: SyncError?
    /// While it runs: whether nothing can be done just now, until somebody changes something.
    public var isSettled = false
    /// While it runs: why it waits, and until when.
    package var wait: SyncWait?

    package init() {}

    /// The most that `waiting` lists.
    public static let waitingCountMax = 100

    /// An intent that has not been delivered.
    public struct Waiting: Hashable, Sendable {
        /// The intent's event.
        public var event: EventID
        /// Why.
        public var reason: ErrorCode
        /// The same for people.
        public var message: String
        /// When it goes on by itself, in Unix milliseconds; nil where it takes something else.
        public var until: UInt64?
    }
}
