package import TapedeckLog
internal import TapedeckModel

/// Determines which recorded playback reports are superseded: the reports that `PlaybackCoalescing`
/// would have dropped.
///
/// The events of an origin are examined in fixed blocks, so all devices find the same reports. In
/// each block, the first and last reports of each viewing are kept. All reports of a viewing must
/// come from the same player. If the times of a viewing's reports are not in order, all of the
/// reports are kept.
///
/// As with `PlaybackCoalescing`, no list is affected, with one exception. With
/// `WatchLaterRule.rule2012`, a video that is marked again after the viewing has passed 75 % leaves
/// the watch-later list only at the next report that is kept.
package enum PlaybackCompaction {
    /// A recorded report.
    package struct Recorded: Sendable {
        /// The report; nil if the event is not a report or cannot be read.
        package var report: PlaybackCoalescing.Report?
        /// Whether the report must be kept.
        package var isFixed: Bool

        package init(_ report: PlaybackCoalescing.Report?, isFixed: Bool) {
            self.report = report
            self.isFixed = isFixed
        }

        /// Creates a value from an event of any type.
        package init(_ candidate: CompactionRule.Candidate) {
            let event = try? candidate.event.decode(PlaybackProgressed.self)
            self.init(
                event.map { .init($0, atMilliseconds: candidate.event.stamp.milliseconds) },
                isFixed: candidate.isFixed)
        }
    }

    private struct Viewing: Hashable {
        var video: String
        var viewing: String
    }

    /// Returns, for each report, whether it is superseded.
    ///
    /// - Parameter reports: Reports from one origin, in sequence order.
    package static func superseded(_ reports: [Recorded]) -> [Bool] {
        var superseded = [Bool](repeating: false, count: reports.count)
        var viewings: [Viewing: [Int]] = [:]
        for (index, recorded) in reports.enumerated() {
            guard let event = recorded.report?.event else { continue }
            viewings[Viewing(video: event.video, viewing: event.viewing), default: []].append(index)
        }
        for indices in viewings.values {
            for index in self.superseded(indices, of: reports) { superseded[index] = true }
        }
        return superseded
    }

    /// Returns the indices of the superseded reports of a viewing.
    private static func superseded(_ indices: [Int], of reports: [Recorded]) -> [Int] {
        let times = indices.compactMap { reports[$0].report?.atMilliseconds }
        guard zip(times, times.dropFirst()).allSatisfy({ $0 <= $1 }) else { return [] }
        var found: [Int] = []
        var coalescing = PlaybackCoalescing()
        var held: Int?
        for index in indices {
            guard !reports[index].isFixed, let report = reports[index].report,
                let given = try? coalescing.take(
                    report.event, atMilliseconds: report.atMilliseconds)
            else {
                coalescing = PlaybackCoalescing()
                held = nil
                continue
            }
            let stays = coalescing.held == nil
            if let held, given.count == (stays ? 1 : 0) { found.append(held) }
            held = stays ? nil : index
        }
        return found
    }
}
