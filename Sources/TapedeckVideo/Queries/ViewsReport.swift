internal import TapedeckModel
internal import TapedeckProjections

/// The number of times a video was opened.
public struct ViewsReport: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var key: String
    /// The number to show: the sum of `observed` and `own`.
    public var views: Int
    /// The number of views that the remote counts; nil if the remote reports no count.
    @NullWhenNil public var observed: Int?
    /// The number of the user's own openings that count as views but are not included in `observed`
    /// yet.
    public var own: Int
}

extension VideoQueries {
    /// Returns the number of times a video was opened, including the user's own openings that the
    /// remote does not count yet.
    ///
    /// Costs one lookup.
    ///
    /// - Parameter video: The video's key, or any of its URLs.
    public func views(video: String) throws -> ViewsReport {
        let key = try VideoKey(video)
        let state = try reader.state(of: projections.viewCounts, key: key.tag)
        let own = Int(clamping: state?.uncounted ?? 0)
        let observed = state.flatMap { $0.isObserved ? Int(clamping: $0.observed) : nil }
        return ViewsReport(
            key: key.text, views: (observed ?? 0).addingClamped(own), observed: observed, own: own)
    }
}

extension Int {
    /// Returns the sum of two counts, clamped to the largest integer.
    func addingClamped(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
