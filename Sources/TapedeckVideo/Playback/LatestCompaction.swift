package import TapedeckLog
package import TapedeckModel

/// Which events may go of the types of which the last one stands for all before it (`Retention.latest`): those
/// behind which the same origin says something newer of the same thing.
///
/// What an event is about is its first tag. Events that cannot be read, facts and those that have to stay
/// neither go nor stand for others.
package enum LatestCompaction {
    /// The types that it is about.
    package static let types = EventCatalogue.video.types(of: .latest)

    private struct Subject: Hashable {
        var type: EventType
        var tag: Tag
    }

    /// Says of each event whether it is superseded.
    ///
    /// - Parameter candidates: of one origin, in the order of their sequences; of any types.
    package static func superseded(_ candidates: [CompactionRule.Candidate]) -> [Bool] {
        var superseded = [Bool](repeating: false, count: candidates.count)
        var newest: [Subject: Int] = [:]
        for (index, candidate) in candidates.enumerated() {
            let event = candidate.event
            guard types.contains(event.type), !candidate.isFixed, event.fact == nil,
                let tag = event.tags.first, EventCatalogue.video.reads(event)
            else { continue }
            let subject = Subject(type: event.type, tag: tag)
            guard let before = newest[subject] else {
                newest[subject] = index
                continue
            }
            // Of two of one time the later sequence is the newer one.
            let isNewer = candidates[before].event.stamp <= event.stamp
            superseded[isNewer ? before : index] = true
            if isNewer { newest[subject] = index }
        }
        return superseded
    }
}
