package import TapedeckLog
internal import TapedeckModel

/// Which of the reports that were recorded say nothing that others do not say: what
/// `PlaybackCoalescing` would not have recorded.
///
/// It looks at some neighbouring events of one origin alone, so every device finds the same. Of each viewing
/// the first and the last of them stay. A viewing's reports are those of one player, made in the order in
/// which they are recorded: one of which they are not stays whole.
///
/// As in `PlaybackCoalescing`, no list changes, but that watch later by the rule of 2012 meets a mark that was
/// set again beyond 75 % at the next report that stays.
package enum PlaybackCompaction {
    /// A report, as it is recorded.
    package struct Recorded: Sendable {
        /// What it says; nil where that cannot be read.
        package var report: PlaybackCoalescing.Report?
        /// Whether it has to stay.
        package var isFixed: Bool

        package init(_ report: PlaybackCoalescing.Report?, isFixed: Bool) {
            self.report = report
            self.isFixed = isFixed
        }

        /// An event of any type; it is a report where it can be read as one.
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

    /// Says of each report whether it is superseded.
    ///
    /// - Parameter reports: of one origin, in the order of their sequences.
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

    /// The superseded ones of a viewing's reports.
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
