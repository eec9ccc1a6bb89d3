/// An error code that programs can branch on.
///
/// `schema/errors.md` lists all codes.
public struct ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The code as written in JSON.
    public let rawValue: String

    /// Wraps a code; `storectl` exits with 1 for an unknown code.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The code as written in JSON.
    public var description: String { rawValue }
}

/// The exit codes of `storectl`, specified in `schema/cli.md`.
public enum ExitClass: Int32, Sendable, CaseIterable {
    /// A defect in Tapedeck.
    case `internal` = 1
    /// The command completed, but refused some input.
    case someRefused = 2
    /// A check failed.
    case checkFailed = 3
    /// Something was not found.
    case notFound = 4
    /// Something is busy, full or read-only.
    case unavailable = 5
    /// Stored data is damaged.
    case damaged = 6
    /// A remote or the network failed.
    case remote = 7
    /// The command line or an argument is invalid.
    case usage = 64
}

extension ErrorCode {
    /// A tag is malformed or too long.
    ///
    /// Use a shorter tag, or a hash.
    public static let invalidTag = ErrorCode(rawValue: "invalidTag")
    /// The name of an event type is malformed.
    ///
    /// Use letters, digits, dots and underscores.
    public static let invalidType = ErrorCode(rawValue: "invalidType")
    /// This program does not know the event type.
    ///
    /// Check the spelling, or upgrade.
    public static let unknownType = ErrorCode(rawValue: "unknownType")
    /// A payload cannot be decoded as its type, or one of its fields is invalid.
    ///
    /// Correct the field named in the message.
    public static let invalidPayload = ErrorCode(rawValue: "invalidPayload")
    /// The input is not JSON, or not JSON of the expected form.
    ///
    /// Correct the error at the location in the message.
    public static let malformedJSON = ErrorCode(rawValue: "malformedJSON")
    /// A time cannot be parsed, or is outside 1970 to 9999.
    ///
    /// Use RFC 3339, such as `2015-01-01T00:00:00Z`.
    public static let invalidTime = ErrorCode(rawValue: "invalidTime")
    /// A value exceeds its limit.
    ///
    /// Send less at once; the message names the limit.
    public static let tooLarge = ErrorCode(rawValue: "tooLarge")
    /// The key or URL of a video is not in a supported form.
    ///
    /// Use `provider:id`, or the URL of one video.
    public static let invalidVideo = ErrorCode(rawValue: "invalidVideo")
    /// A remote responded with an error instead of data.
    ///
    /// Ask the remote again later.
    public static let remoteError = ErrorCode(rawValue: "remoteError")
    /// An append condition does not hold, or the current state does not allow a command.
    ///
    /// Read the state again and decide again.
    public static let conditionFailed = ErrorCode(rawValue: "conditionFailed")
    /// A key is frozen: its fold refused an event, so later events are not in its state.
    ///
    /// `storectl doctor` names the event. Upgrade the program, or fix the projection.
    public static let frozen = ErrorCode(rawValue: "frozen")
    /// No object has this name.
    ///
    /// Check the name.
    public static let notFound = ErrorCode(rawValue: "notFound")
    /// There is no store in this directory.
    ///
    /// Run `storectl init`, or name another directory.
    public static let noStore = ErrorCode(rawValue: "noStore")
    /// The directory already contains a store.
    ///
    /// Use the existing store, or erase it first.
    public static let storeExists = ErrorCode(rawValue: "storeExists")
    /// The call conflicts with another use of the store.
    ///
    /// Try again. Within one process, share the open store.
    public static let busy = ErrorCode(rawValue: "busy")
    /// The store is suspended or closed.
    ///
    /// Resume it, or open it again.
    public static let closed = ErrorCode(rawValue: "closed")
    /// The disk is full.
    ///
    /// Nothing was lost. Free some space and try again.
    public static let diskFull = ErrorCode(rawValue: "diskFull")
    /// The directory or file is not writable.
    ///
    /// Make the directory or file writable, or move the store.
    public static let readOnly = ErrorCode(rawValue: "readOnly")
    /// The operating system denied access.
    ///
    /// Check the owner of the file.
    public static let accessDenied = ErrorCode(rawValue: "accessDenied")
    /// The operating system reported an I/O error.
    ///
    /// Check the disk, then open the store again.
    public static let inputOutput = ErrorCode(rawValue: "inputOutput")
    /// The log stopped after an earlier I/O error, or its files were replaced while it was open.
    ///
    /// Close the store and open it again.
    public static let mustReopen = ErrorCode(rawValue: "mustReopen")
    /// Stored bytes differ from the bytes that were written.
    ///
    /// Run `storectl verify` to find the damage. Restore a backup.
    public static let damaged = ErrorCode(rawValue: "damaged")
    /// The format of the store, or the schema of a payload, is too new for this program.
    ///
    /// Upgrade the program.
    public static let newerFormat = ErrorCode(rawValue: "newerFormat")
    /// Two different events have the same id: an origin has two conflicting histories.
    ///
    /// Find out which store was copied, and keep only one of the two copies.
    public static let fork = ErrorCode(rawValue: "fork")
    /// Earlier events of the same origin are missing.
    ///
    /// Import the missing events first.
    public static let gap = ErrorCode(rawValue: "gap")
    /// A token is missing, unknown, expired or revoked.
    ///
    /// Get a new token; nothing pending is lost.
    public static let unauthorized = ErrorCode(rawValue: "unauthorized")
    /// The operation needs an account, and you are not signed in.
    ///
    /// Sign in, then try again.
    public static let signInRequired = ErrorCode(rawValue: "signInRequired")
    /// The other side is unreachable, or the connection was lost.
    ///
    /// Tapedeck retries automatically.
    public static let offline = ErrorCode(rawValue: "offline")
    /// File uploads wait for an unmetered network.
    ///
    /// Run `storectl network online` on an unmetered network.
    public static let metered = ErrorCode(rawValue: "metered")
    /// The other side limits the rate of requests.
    ///
    /// Tapedeck retries after the requested delay.
    public static let throttled = ErrorCode(rawValue: "throttled")
    /// The other side is temporarily unavailable.
    ///
    /// Tapedeck retries later.
    public static let unavailable = ErrorCode(rawValue: "unavailable")
    /// The other side redirects requests to another address.
    ///
    /// Sign in to the network, or correct the address.
    public static let redirected = ErrorCode(rawValue: "redirected")
    /// A message does not follow the protocol.
    ///
    /// Upgrade the older side, or report the error.
    public static let malformedRequest = ErrorCode(rawValue: "malformedRequest")
    /// A message between a device and a sync server was changed in transit.
    ///
    /// Tapedeck requests it again. If this happens often, check the proxies and networks between
    /// the device and the server.
    public static let altered = ErrorCode(rawValue: "altered")
    /// The two sides have no protocol version in common.
    ///
    /// Upgrade the older side.
    public static let protocolMismatch = ErrorCode(rawValue: "protocolMismatch")
    /// The server has begun a new lineage, a new version of its log, since the device's last
    /// request.
    ///
    /// The device reads the new lineage and uploads the events missing from it.
    public static let lineageChanged = ErrorCode(rawValue: "lineageChanged")
    /// The server's log differs from the log that the device has read, so part of it was lost.
    ///
    /// The device starts a new lineage and uploads the lost events.
    public static let cursorMismatch = ErrorCode(rawValue: "cursorMismatch")
    /// The remote does not have the object that the intent refers to.
    ///
    /// The intent is delivered once a sync has seen the object on the remote.
    public static let notThere = ErrorCode(rawValue: "notThere")
    /// Another device holds the lease to deliver the intent.
    ///
    /// The other device delivers the intent, or this device takes over when the lease ends.
    public static let leased = ErrorCode(rawValue: "leased")
    /// This device is to deliver another device's intent, but the sync server has not yet received
    /// this device's claim.
    ///
    /// Sync with the server.
    public static let unclaimed = ErrorCode(rawValue: "unclaimed")
    /// It is unknown whether the remote carried out a request.
    ///
    /// Check the remote, then use `storectl outbox retry` or `storectl outbox drop`.
    public static let unknownOutcome = ErrorCode(rawValue: "unknownOutcome")
    /// A request may still take effect.
    ///
    /// The next sync checks the result.
    public static let unconfirmed = ErrorCode(rawValue: "unconfirmed")
    /// A check found a difference.
    ///
    /// The message says where the difference is. `storectl replay` rebuilds projections.
    public static let checkFailed = ErrorCode(rawValue: "checkFailed")
    /// The command line is invalid.
    ///
    /// See `storectl help COMMAND`.
    public static let usage = ErrorCode(rawValue: "usage")
    /// A defect in Tapedeck.
    ///
    /// Report the defect with the message and the output of `storectl status`.
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
        (.unavailable, .remote), (.redirected, .remote), (.malformedRequest, .remote),
        (.altered, .remote),
        (.protocolMismatch, .remote),
        (.lineageChanged, .remote), (.cursorMismatch, .remote),
        (.notThere, .remote), (.leased, .remote), (.unclaimed, .remote),
        (.unknownOutcome, .remote), (.unconfirmed, .remote),
        (.checkFailed, .checkFailed), (.usage, .usage), (.internalError, .internal),
    ]

    /// The exit class of `storectl` when an entire command fails with this code.
    public var exit: ExitClass {
        ErrorCode.table.first { $0.code == self }?.exit ?? .internal
    }
}
