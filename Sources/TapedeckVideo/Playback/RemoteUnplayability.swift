/// The times at which users first and last reported to a remote that a video cannot be played.
///
/// Remotes never clear these times, so their meaning depends on the current time. As in the 2013
/// apps, a video is permanently unplayable if the two times are more than 48 hours apart;
/// otherwise, the video is unplayable for an hour after the last report.
public struct RemoteUnplayability: Hashable, Sendable {
    /// The time of the first report, in milliseconds since 1970.
    public var firstAt: Int64
    /// The time of the last report, in milliseconds since 1970.
    public var lastAt: Int64

    /// If the first and last reports are more than this number of milliseconds apart, the video is
    /// permanently unplayable.
    public static let lastingMilliseconds: Int64 = 48 * 3_600_000
    /// The number of milliseconds after the last report during which the video is always
    /// unplayable.
    public static let recentMilliseconds: Int64 = 3_600_000

    /// Creates a value from a remote's times, or returns nil if there was no report.
    ///
    /// A remote may represent a missing time as 0.
    public init?(firstAt: Int64?, lastAt: Int64?) {
        guard let firstAt, firstAt > 0 else { return nil }
        self.firstAt = firstAt
        self.lastAt = max(lastAt ?? firstAt, firstAt)
    }

    /// The time at which the video is no longer considered unplayable, in milliseconds since 1970;
    /// nil if the video is permanently unplayable.
    public var endsAt: Int64? {
        lastAt - firstAt > RemoteUnplayability.lastingMilliseconds
            ? nil : lastAt + RemoteUnplayability.recentMilliseconds
    }

    /// Returns whether the video is considered unplayable.
    public func holds(at now: UTCTime) -> Bool { endsAt.map { now.milliseconds < $0 } ?? true }
}
