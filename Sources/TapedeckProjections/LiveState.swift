public import TapedeckModel

/// The state of a list apart from its entries.
///
/// A list keeps its entries in every state.
public struct LiveState: Hashable, Sendable {
    /// The progress of building missing or outdated tables; nil if the tables are ready.
    ///
    /// The progress is reported before the build and after each percent of a phase. No progress is
    /// reported for logs with fewer than `loadingEventsMin` events, because their tables are built
    /// almost immediately.
    public var loading: RebuildProgress?
    /// The problems that affect the list.
    public var failures: [LiveFailure]

    /// The time of the next retry, in milliseconds since 1970; nil if there is no automatic retry.
    public var retryAt: Int64? { failures.compactMap(\.retryAt).min() }

    /// The minimum number of events in a log for which progress is reported; the tables of smaller
    /// logs are built within 0.1 s.
    public static let loadingEventsMin: UInt64 = 10_000
    /// The maximum number of reported failures.
    public static let failuresMax = 100

    /// Creates a state; by default nothing is loading or failing.
    public init(loading: RebuildProgress? = nil, failures: [LiveFailure] = []) {
        (self.loading, self.failures) = (loading, failures)
    }
}

/// A problem that affects a list.
public struct LiveFailure: Hashable, Sendable {
    /// The error code.
    ///
    /// If a fold rejected an event of a key in the list, the code is `.frozen`. If the list could
    /// not be read, the code is that of the read error, such as `.damaged` or `.diskFull`. If the
    /// store is waiting for a remote, the code is the reason for the wait, such as `.offline`.
    public var code: ErrorCode
    /// A message that describes the cause and the affected object.
    public var message: String
    /// The suggested remedy.
    public var hint: String?
    /// The affected projection; nil for a remote.
    public var projection: String?
    /// The affected key, such as `video/youtube:abc`; nil if the entire list is affected.
    public var key: String?
    /// The event that the fold of a frozen key rejected.
    public var event: String?
    /// The remote that the store waits for.
    public var remote: String?
    /// The time of the next retry, in milliseconds since 1970; nil if there is no automatic retry.
    public var retryAt: Int64?

    /// Creates a failure.
    public init(
        _ code: ErrorCode, _ message: String, hint: String? = nil, projection: String? = nil,
        key: String? = nil, event: String? = nil, remote: String? = nil, retryAt: Int64? = nil
    ) {
        (self.code, self.message, self.hint) = (code, message, hint)
        (self.projection, self.key, self.event) = (projection, key, event)
        (self.remote, self.retryAt) = (remote, retryAt)
    }
}

extension LiveFailure {
    /// The codes of read errors that a retry may resolve; all other errors end a loop.
    private static let passing: Set<ErrorCode> = [
        .damaged, .diskFull, .inputOutput, .accessDenied, .readOnly, .busy,
    ]

    static func mayPass(_ error: any CodedError) -> Bool { passing.contains(error.code) }

    /// Creates a failure that describes why a list cannot be read.
    init(_ error: any CodedError, retryAt: Int64?) {
        self.init(
            error.code, error.message, hint: error.hint,
            projection: (error as? ProjectionError)?.projection, retryAt: retryAt)
    }

    init(_ frozen: FrozenKey) {
        self.init(
            .frozen,
            "\(frozen.key) is frozen in \(frozen.projection) at event \(frozen.event): \(frozen.reason)",
            hint: "the key keeps its last valid state; upgrade the program or fix the projection",
            projection: frozen.projection, key: frozen.key, event: frozen.event)
    }

    init(_ wait: RemoteWait, at now: Int64) {
        let until = Int64(clamping: wait.until)
        self.init(
            wait.reason, wait.message, key: wait.key?.text, remote: wait.remote,
            retryAt: until > now ? until : nil)
    }
}

/// Reports the remotes that a list is waiting for.
package protocol LiveRemotes: Sendable {
    /// The projection that lists the remotes.
    var projection: any Projection { get }

    /// Returns the remotes of the given systems that a list is waiting for, and the reasons.
    func waits(at systems: [String], _ views: Views) throws -> [RemoteWait]
}

/// The reason for waiting for a remote.
package struct RemoteWait: Hashable, Sendable {
    /// The name of the remote.
    package var remote: String
    /// The key whose data is delayed; nil if all data from the remote is delayed.
    package var key: Tag?
    package var reason: ErrorCode
    package var message: String
    /// The time of the next retry, in milliseconds since 1970; 0 if there is no automatic retry.
    package var until: UInt64

    package init(
        remote: String, key: Tag? = nil, reason: ErrorCode, message: String, until: UInt64
    ) {
        (self.remote, self.key) = (remote, key)
        (self.reason, self.message, self.until) = (reason, message, until)
    }
}
