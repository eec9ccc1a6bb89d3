/// When a remote was told by its users that a video cannot be played: first, and last.
///
/// A remote takes neither back, so what they mean depends on the time. As in the apps of 2013: what was
/// told over more than 48 hours holds for ever, what was told a moment ago for an hour.
public struct RemoteUnplayability: Hashable, Sendable {
    /// When it was told first, in Unix milliseconds.
    public var firstAt: Int64
    /// When it was told last, in Unix milliseconds.
    public var lastAt: Int64

    /// Beyond so many milliseconds between first and last it holds for ever.
    public static let lastingMilliseconds: Int64 = 48 * 3_600_000
    /// For less than so many milliseconds behind the last it holds in any case.
    public static let recentMilliseconds: Int64 = 3_600_000

    /// Makes one of what a remote tells; nil where it tells nothing, for which it may also write 0.
    public init?(firstAt: Int64?, lastAt: Int64?) {
        guard let firstAt, firstAt > 0 else { return nil }
        self.firstAt = firstAt
        self.lastAt = max(lastAt ?? firstAt, firstAt)
    }

    /// The moment from which it no longer holds, in Unix milliseconds; nil where it always will.
    public var endsAt: Int64? {
        lastAt - firstAt > RemoteUnplayability.lastingMilliseconds
            ? nil : lastAt + RemoteUnplayability.recentMilliseconds
    }

    /// Whether the video counts as one that cannot be played.
    public func holds(at now: UTCTime) -> Bool { endsAt.map { now.milliseconds < $0 } ?? true }
}
