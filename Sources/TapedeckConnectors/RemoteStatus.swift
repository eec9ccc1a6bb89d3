public import TapedeckModel
public import TapedeckSync

/// The state of a store's sync with a remote.
public struct RemoteStatus: Sendable {
    /// The remote.
    public var remote: Remote
    /// Whether this device is logged in.
    public var hasLogin: Bool
    /// Whether reading requires a login.
    public var needsLogin: Bool
    /// The time of the remote's last response, in Unix milliseconds; nil if it has never responded.
    public var contactedAt: UInt64?
    /// The time of the last complete read, in Unix milliseconds; nil if there has been none.
    public var readAt: UInt64?
    /// The reason why the sync is waiting, ended early or could not read a feed; nil if there is
    /// none.
    public var reason: ErrorCode?
    /// A description of `reason` for people.
    public var message: String?
    /// The time of the next attempt, in Unix milliseconds; nil if the sync does not continue
    /// automatically.
    public var until: UInt64?
    /// The number of pending intents.
    public var undelivered = 0
    /// The number of intents that were refused or whose outcome is unknown.
    public var ended = 0

    /// Whether everything has been read and no intent is pending, refused or unconfirmed.
    public var isUpToDate: Bool {
        readAt != nil && reason == nil && undelivered == 0 && ended == 0
    }
}
