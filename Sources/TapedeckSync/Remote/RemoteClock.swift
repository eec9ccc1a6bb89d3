/// The difference between a remote's clock and the local clock.
///
/// A remote refuses requests that are signed with a wrong time. Such a request is sent once more,
/// with the time from the `Date` header of the refusal; later requests use the corrected time.
package struct RemoteClock: Sendable {
    /// The largest clock difference, in milliseconds, that is not treated as the cause of a
    /// refusal.
    private static let tolerance: Int64 = 300_000

    /// Whether requests are signed with the time.
    private let signsTime: Bool
    private var offset: Int64 = 0
    /// Whether the offset has been corrected since the last accepted request.
    private var isCorrected = false

    /// - Parameter signsTime: Whether requests are signed with the time; if not, no request is
    ///   repeated.
    package init(signsTime: Bool) { self.signsTime = signsTime }

    /// Returns the remote's time at a local time, both in milliseconds since 1970.
    package func time(at now: UInt64) -> UInt64 {
        UInt64(clamping: Int64(clamping: now) + offset)
    }

    /// Corrects the offset if the remote refused a request because of its time; returns true if the
    /// caller should send the request again.
    ///
    /// - Parameter now: The local time of the response, in milliseconds since 1970.
    package mutating func correct(by response: RemoteResponse, at now: UInt64) -> Bool {
        guard signsTime else { return false }
        guard response.status == 401 else {
            isCorrected = false
            return false
        }
        let now = Int64(clamping: now)
        // A second refusal in a row has another cause.
        guard !isCorrected, let date = response.date,
            abs(date - (now + offset)) > RemoteClock.tolerance
        else { return false }
        (offset, isCorrected) = (date - now, true)
        return true
    }
}
