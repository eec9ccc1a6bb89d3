public import TapedeckModel

/// The result of a sync.
public struct SyncReport: Sendable {
    /// An event that the server refused, and the reason.
    public struct Refusal: Hashable, Sendable {
        /// The id of the event.
        public var event: EventID
        /// The reason.
        public var code: ErrorCode
    }

    /// An event that has not been delivered, and the reason.
    public struct Waiting: Hashable, Sendable {
        /// The id of the event.
        public var event: EventID
        /// The reason.
        public var reason: ErrorCode
        /// The time of the next retry, in milliseconds since 1970; nil if no retry is scheduled.
        public var until: UInt64?
    }

    /// The number of events that the server did not have and received from this sync.
    ///
    /// If a response is lost or altered, the events are counted once the server confirms that it
    /// has them.
    public var pushed: UInt64 = 0
    /// The number of events that this store did not have.
    public var pulled: UInt64 = 0
    /// The events that the server refused.
    public var refused: [Refusal] = []
    /// The first pending events, up to `waitingMax` of them.
    public var waiting: [Waiting] = []
    /// The total number of pending events.
    public var waitingCount: UInt64 = 0
    /// The number of times that the store adopted a new origin because it had been restored to an
    /// earlier state.
    public var renewedOrigins = 0
    /// The number of events that were rewritten because the history of their origin had split.
    public var healed: UInt64 = 0

    /// The reason why the sync ended early; nil if everything was delivered.
    public var failure: SyncError?
    /// The time from which the server accepts requests again, in milliseconds since 1970, if the
    /// sync ended because the server asked for a long wait.
    public var until: UInt64?

    /// The maximum number of pending events in a report.
    public static let waitingMax = 1_000
}
