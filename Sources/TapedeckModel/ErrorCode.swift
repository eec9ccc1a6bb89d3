/// What went wrong, for programs to branch on.
///
/// The same table stands in `schema/errors.md`.
public struct ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The code as it stands in JSON.
    public let rawValue: String

    /// Wraps a code; unknown ones exit with 1.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The code as it stands in JSON.
    public var description: String { rawValue }
}

/// The exit codes of `storectl`; `schema/cli.md` is their contract.
public enum ExitClass: Int32, Sendable, CaseIterable {
    /// A defect of ours.
    case `internal` = 1
    /// Done, some input refused.
    case someRefused = 2
    /// A check failed.
    case checkFailed = 3
    /// Not found.
    case notFound = 4
    /// Busy, full or read-only.
    case unavailable = 5
    /// Damaged.
    case damaged = 6
    /// Remote or network.
    case remote = 7
    /// Usage.
    case usage = 64
}

extension ErrorCode {
    /// A tag is malformed or too long.
    ///
    /// Tag something shorter.
    public static let invalidTag = ErrorCode(rawValue: "invalidTag")
    /// An event type's name is malformed.
    public static let invalidType = ErrorCode(rawValue: "invalidType")
    /// An event type is not one that this program knows.
    ///
    /// Check the spelling, or upgrade.
    public static let unknownType = ErrorCode(rawValue: "unknownType")
    /// A payload cannot be read as its type, or a field in it makes no sense.
    public static let invalidPayload = ErrorCode(rawValue: "invalidPayload")
    /// Text is not JSON, or not the JSON that was expected.
    public static let malformedJSON = ErrorCode(rawValue: "malformedJSON")
    /// A time cannot be read, or is outside 1970 to 9999.
    public static let invalidTime = ErrorCode(rawValue: "invalidTime")
    /// Something is larger than its named limit.
    public static let tooLarge = ErrorCode(rawValue: "tooLarge")
    /// A video's key or URL is of no known form.
    public static let invalidVideo = ErrorCode(rawValue: "invalidVideo")
    /// A remote answered with its error form instead of data.
    public static let remoteError = ErrorCode(rawValue: "remoteError")
    /// An append condition does not hold, or what is known does not allow a command.
    ///
    /// Read again, decide again.
    public static let conditionFailed = ErrorCode(rawValue: "conditionFailed")
    /// A key is frozen: its fold refused an event, and what came since is not in it.
    ///
    /// `storectl doctor` names the event.
    public static let frozen = ErrorCode(rawValue: "frozen")
    /// Nothing has this name.
    public static let notFound = ErrorCode(rawValue: "notFound")
    /// There is no store in this directory.
    ///
    /// Run `storectl init`.
    public static let noStore = ErrorCode(rawValue: "noStore")
    /// A store stands here already.
    public static let storeExists = ErrorCode(rawValue: "storeExists")
    /// The store is in use in a way that excludes this call.
    public static let busy = ErrorCode(rawValue: "busy")
    /// The store is suspended or closed.
    public static let closed = ErrorCode(rawValue: "closed")
    /// The disk is full.
    ///
    /// Make room and call again: nothing was lost.
    public static let diskFull = ErrorCode(rawValue: "diskFull")
    /// The directory or file cannot be written.
    public static let readOnly = ErrorCode(rawValue: "readOnly")
    /// Permission was denied by the system.
    public static let accessDenied = ErrorCode(rawValue: "accessDenied")
    /// The system reported an input or output error.
    ///
    /// The store must be reopened.
    public static let inputOutput = ErrorCode(rawValue: "inputOutput")
    /// An earlier input or output error latched the log.
    ///
    /// Close the store and open it again.
    public static let mustReopen = ErrorCode(rawValue: "mustReopen")
    /// Stored bytes are not what was written.
    ///
    /// Restore a backup; `storectl verify` says where.
    public static let damaged = ErrorCode(rawValue: "damaged")
    /// The store's format, or the schema of a payload, is newer than this program.
    ///
    /// Upgrade the program.
    public static let newerFormat = ErrorCode(rawValue: "newerFormat")
    /// One identity with two contents: two histories of one origin met.
    public static let fork = ErrorCode(rawValue: "fork")
    /// An origin's events do not join on to what is known of it.
    public static let gap = ErrorCode(rawValue: "gap")
    /// A token is missing, unknown, expired or revoked.
    ///
    /// Get a fresh one; nothing that waits is lost.
    public static let unauthorized = ErrorCode(rawValue: "unauthorized")
    /// An account is needed, and nobody is signed in.
    ///
    /// Sign in; what was to be done can then be tried again.
    public static let signInRequired = ErrorCode(rawValue: "signInRequired")
    /// The other side cannot be reached, or went away in the middle.
    ///
    /// It is tried again by itself.
    public static let offline = ErrorCode(rawValue: "offline")
    /// Files wait for a network whose bytes cost nothing.
    ///
    /// `storectl network online` says that there is one.
    public static let metered = ErrorCode(rawValue: "metered")
    /// The other side asks for less.
    ///
    /// It is tried again when it said, or later.
    public static let throttled = ErrorCode(rawValue: "throttled")
    /// The other side cannot do its work for now.
    public static let unavailable = ErrorCode(rawValue: "unavailable")
    /// A message is not one of the protocol.
    public static let malformedRequest = ErrorCode(rawValue: "malformedRequest")
    /// A message was changed on its way.
    ///
    /// It is asked for again by itself.
    public static let altered = ErrorCode(rawValue: "altered")
    /// The two sides have no version of the protocol in common.
    ///
    /// Upgrade the older one.
    public static let protocolMismatch = ErrorCode(rawValue: "protocolMismatch")
    /// The server is not in the lineage that the device speaks of.
    ///
    /// Shake hands again.
    public static let lineageChanged = ErrorCode(rawValue: "lineageChanged")
    /// The server's log is not the one that the device has read: a part of it was lost.
    ///
    /// Ask for a new lineage and seed it.
    public static let cursorMismatch = ErrorCode(rawValue: "cursorMismatch")
    /// A remote does not have what an intent concerns.
    ///
    /// It is delivered once a reading shows that it does.
    public static let notThere = ErrorCode(rawValue: "notThere")
    /// It is another device's to deliver for now.
    public static let leased = ErrorCode(rawValue: "leased")
    /// A device wants to deliver in the place of another, and the sync server has not seen that yet.
    ///
    /// Sync with the server.
    public static let unclaimed = ErrorCode(rawValue: "unclaimed")
    /// It cannot be told whether a remote did what it was asked.
    ///
    /// Look there, then `storectl outbox retry` or `storectl outbox drop`.
    public static let unknownOutcome = ErrorCode(rawValue: "unknownOutcome")
    /// A request may still take effect; it is asked for soon.
    public static let unconfirmed = ErrorCode(rawValue: "unconfirmed")
    /// A check found a difference.
    public static let checkFailed = ErrorCode(rawValue: "checkFailed")
    /// The command line makes no sense.
    public static let usage = ErrorCode(rawValue: "usage")
    /// A defect of ours.
    public static let internalError = ErrorCode(rawValue: "internalError")

    /// Every code with its exit class, in the order of `schema/errors.md`.
    public static let table: [(code: ErrorCode, exit: ExitClass)] = [
        (.invalidTag, .usage), (.invalidType, .usage), (.unknownType, .usage),
        (.invalidPayload, .usage), (.malformedJSON, .usage), (.invalidTime, .usage),
        (.tooLarge, .usage), (.invalidVideo, .usage), (.remoteError, .remote),
        (.conditionFailed, .checkFailed), (.frozen, .checkFailed), (.notFound, .notFound),
        (.noStore, .notFound),
        (.storeExists, .unavailable), (.busy, .unavailable), (.closed, .unavailable),
        (.diskFull, .unavailable), (.readOnly, .unavailable), (.accessDenied, .unavailable),
        (.inputOutput, .damaged), (.mustReopen, .unavailable), (.damaged, .damaged),
        (.newerFormat, .damaged), (.fork, .checkFailed), (.gap, .checkFailed),
        (.unauthorized, .remote), (.signInRequired, .remote), (.offline, .remote),
        (.metered, .remote), (.throttled, .remote),
        (.unavailable, .remote), (.malformedRequest, .remote), (.altered, .remote),
        (.protocolMismatch, .remote),
        (.lineageChanged, .remote), (.cursorMismatch, .remote),
        (.notThere, .remote), (.leased, .remote), (.unclaimed, .remote),
        (.unknownOutcome, .remote), (.unconfirmed, .remote),
        (.checkFailed, .checkFailed), (.usage, .usage), (.internalError, .internal),
    ]

    /// How `storectl` exits when a whole command fails with this code.
    public var exit: ExitClass {
        ErrorCode.table.first { $0.code == self }?.exit ?? .internal
    }
}
