internal import TapedeckModel
internal import TapedeckProjections

/// How often a video was opened.
public struct ViewsReport: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var key: String
    /// What is shown: `observed` and `own` together.
    public var views: Int
    /// What the remote counts; nil where it does not say.
    @NullWhenNil public var observed: Int?
    /// Openings of the user that count and that are not in it yet.
    public var own: Int
}

extension VideoQueries {
    /// How often a video was opened: what the remote counts, and what it does not count yet of the user's own.
    ///
    /// Costs a look-up.
    ///
    /// - Parameter video: its key, or any URL form of it.
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
    /// The sum of two counts, or the greatest number.
    func addingClamped(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
