package import TapedeckLog
internal import TapedeckModel

/// Determines which recorded reports are superseded, because `PlaybackCoalescing` would not have
/// kept them.
///
/// Only some neighbouring events of one origin are examined, so all devices find the same reports.
/// The first and the last examined report of each viewing stay. The reports of a viewing must be
/// those of one player, in the order in which they were made; otherwise, all of them stay.
///
/// As with `PlaybackCoalescing`, no list changes, with one exception: with the rule of 2012, a
/// video that was marked again beyond 75 % leaves the watch-later list only at the next report that
/// stays.
package enum PlaybackCompaction {
    /// A recorded report.
    package struct Recorded: Sendable {
        /// The report; nil if it cannot be read.
        package var report: PlaybackCoalescing.Report?
        /// Whether the report must stay.
        package var isFixed: Bool

        package init(_ report: PlaybackCoalescing.Report?, isFixed: Bool) {
            self.report = report
            self.isFixed = isFixed
        }

        /// Creates a report from an event, whose type need not be that of a report.
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

    /// Returns for each report whether it is superseded.
    ///
    /// - Parameter reports: reports of one origin, in the order of their sequences.
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

    /// Returns the superseded reports of a viewing.
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
