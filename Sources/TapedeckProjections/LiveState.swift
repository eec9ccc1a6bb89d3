public import TapedeckModel

/// What is to be known of a list beside its entries.
///
/// A list keeps the entries that it has, whatever is said here.
public struct LiveState: Hashable, Sendable {
    /// How far its tables are, while they are missing or very far behind and are made; nil where they are there.
    ///
    /// It is told before the wait, and whenever a hundredth more of a phase is done. In logs of less than
    /// `loadingEventsMin` events nothing is told: the list is there at once.
    public var loading: RebuildProgress?
    /// What it cannot show as it should, and why.
    public var failures: [LiveFailure]

    /// When the first of the failures is tried again, in Unix milliseconds; nil where none is by itself.
    public var retryAt: Int64? { failures.compactMap(\.retryAt).min() }

    /// So many events a log has at least for it to be told that tables are made: fewer take no longer than
    /// a tenth of a second.
    public static let loadingEventsMin: UInt64 = 10_000
    /// The most failures that are told.
    public static let failuresMax = 100

    /// Makes one; everything is well where nothing is said.
    public init(loading: RebuildProgress? = nil, failures: [LiveFailure] = []) {
        (self.loading, self.failures) = (loading, failures)
    }
}

/// Something that a list cannot show as it should.
public struct LiveFailure: Hashable, Sendable {
    /// What went wrong, for programs: `.frozen` of a key of the list whose fold refused an event; what kept
    /// the list from being read, such as `.damaged` or `.diskFull`; why a remote is waited for, such as
    /// `.offline`.
    public var code: ErrorCode
    /// What went wrong and where.
    public var message: String
    /// What to do about it.
    public var hint: String?
    /// The projection concerned; nil of a remote.
    public var projection: String?
    /// The key concerned, such as `video/youtube:abc`; nil where all of the list is.
    public var key: String?
    /// The event that the fold of a frozen key refused.
    public var event: String?
    /// The remote that is waited for.
    public var remote: String?
    /// When it is tried again, in Unix milliseconds; nil where that takes something else.
    public var retryAt: Int64?

    /// Makes one.
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
    /// What a read throws that may be over when it is tried again; all else ends a loop.
    private static let passing: Set<ErrorCode> = [
        .damaged, .diskFull, .inputOutput, .accessDenied, .readOnly, .busy,
    ]

    static func mayPass(_ error: any CodedError) -> Bool { passing.contains(error.code) }

    /// Why a list cannot be read.
    init(_ error: any CodedError, retryAt: Int64?) {
        self.init(
            error.code, error.message, hint: error.hint,
            projection: (error as? ProjectionError)?.projection, retryAt: retryAt)
    }

    init(_ frozen: FrozenKey) {
        self.init(
            .frozen,
            "\(frozen.key) is frozen in \(frozen.projection) at event \(frozen.event): \(frozen.reason)",
            hint: "it shows what came before; upgrade the program, or correct the projection",
            projection: frozen.projection, key: frozen.key, event: frozen.event)
    }

    init(_ wait: RemoteWait, at now: Int64) {
        let until = Int64(clamping: wait.until)
        self.init(
            wait.reason, wait.message, key: wait.key?.text, remote: wait.remote,
            retryAt: until > now ? until : nil)
    }
}

/// Tells lists of the remotes whose sightings they show.
package protocol LiveRemotes: Sendable {
    /// The projection that says which there are.
    var projection: any Projection { get }

    /// What waits at the remotes of some systems.
    func waits(at systems: [String], _ views: Views) throws -> [RemoteWait]
}

/// Why a remote is waited for.
package struct RemoteWait: Hashable, Sendable {
    /// The remote's name.
    package var remote: String
    /// What waits there; nil for everything.
    package var key: Tag?
    package var reason: ErrorCode
    package var message: String
    /// When it is tried again, in Unix milliseconds; 0 where that takes something else.
    package var until: UInt64

    package init(
        remote: String, key: Tag? = nil, reason: ErrorCode, message: String, until: UInt64
    ) {
        (self.remote, self.key) = (remote, key)
        (self.reason, self.message, self.until) = (reason, message, until)
    }
}
