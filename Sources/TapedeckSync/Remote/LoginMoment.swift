internal import TapedeckModel

/// An event that ended the logins of all devices to a remote.
struct LoginsEnd: Hashable, Sendable {
    /// The id of the event.
    var event: EventID
    /// The time of the event, on which all devices agree.
    var stamp: Stamp
}

/// The time at which the user logged in to a remote, relative to the events that end logins.
package struct LoginMoment: Codable, Hashable, Sendable {
    /// The raw value of the stamp that the store would have given to an event.
    private var stamp: UInt64
    /// The id of the last event that had ended the logins when the user logged in; nil if the device
    /// knew of none.
    private var after: String?

    init(stamp: Stamp, after end: LoginsEnd?) {
        self.stamp = stamp.rawValue
        after = end?.event.description
    }

    /// Returns whether an event ended a login that was made at this time.
    ///
    /// If the device knew the event when the user logged in, the login is newer, whatever the clocks
    /// say. Otherwise, the event is concurrent or newer, and the stamps decide; if the device's clock
    /// was ahead, the login may stay valid although the event was later.
    func isEnded(by end: LoginsEnd) -> Bool {
        after != end.event.description && stamp <= end.stamp.rawValue
    }
}

extension RemoteLogin {
    /// Returns whether an event ended the login; a login without a time is older than any event.
    func isEnded(by end: LoginsEnd?) -> Bool {
        guard let end else { return false }
        return moment?.isEnded(by: end) ?? true
    }
}
