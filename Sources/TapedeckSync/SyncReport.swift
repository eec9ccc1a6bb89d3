public import TapedeckModel

/// What a sync did, and what it could not do.
public struct SyncReport: Sendable {
    /// An event that counts nowhere, and why.
    public struct Refusal: Hashable, Sendable {
        /// Which event.
        public var event: EventID
        /// Why.
        public var code: ErrorCode
    }

    /// An event that has not arrived, and why.
    public struct Waiting: Hashable, Sendable {
        /// Which event.
        public var event: EventID
        /// Why.
        public var reason: ErrorCode
        /// When it is tried again, in Unix milliseconds; nil where somebody has to do something.
        public var until: UInt64?
    }

    /// Events that the server did not have.
    public var pushed: UInt64 = 0
    /// Events that this store did not have.
    public var pulled: UInt64 = 0
    /// Events that the server refused.
    public var refused: [Refusal] = []
    /// The first of the events that wait, at most `waitingMax`.
    public var waiting: [Waiting] = []
    /// How many wait.
    public var waitingCount: UInt64 = 0
    /// How often the store took a fresh origin, because it had been put back to an earlier state.
    public var renewedOrigins = 0
    /// Events that were written anew because two histories of one origin met.
    public var healed: UInt64 = 0

    /// Why it ended before everything was delivered; nil where all was.
    public var failure: SyncError?

    /// The most events that a report lists as waiting.
    public static let waitingMax = 1_000
}
