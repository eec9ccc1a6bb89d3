package import TapedeckLog
package import TapedeckModel

/// Determines which events are superseded by a newer event from the same origin about the same
/// subject; only types with `Retention.latest` are examined.
///
/// The subject of an event is its first tag. Observations, unreadable events and events that must
/// stay are never superseded, and do not supersede other events.
package enum LatestCompaction {
    /// The types with `Retention.latest`.
    package static let types = EventCatalogue.video.types(of: .latest)

    private struct Subject: Hashable {
        var type: EventType
        var tag: Tag
    }

    /// Returns, for each event, whether it is superseded.
    ///
    /// - Parameters:
    ///   - candidates: Events of any type from one origin, in sequence order.
    ///   - types: The types with `Retention.latest`, including those of other modules.
    ///   - reads: Whether this program can read an event.
    package static func superseded(
        _ candidates: [CompactionRule.Candidate], types: Set<EventType>,
        reads: (EventEnvelope) -> Bool
    ) -> [Bool] {
        var superseded = [Bool](repeating: false, count: candidates.count)
        var newest: [Subject: Int] = [:]
        for (index, candidate) in candidates.enumerated() {
            let event = candidate.event
            guard types.contains(event.type), !candidate.isFixed, event.fact == nil,
                let tag = event.tags.first, reads(event)
            else { continue }
            let subject = Subject(type: event.type, tag: tag)
            guard let before = newest[subject] else {
                newest[subject] = index
                continue
            }
            // If two events have the same time, the event with the higher sequence number is newer.
            let isNewer = candidates[before].event.stamp <= event.stamp
            superseded[isNewer ? before : index] = true
            if isNewer { newest[subject] = index }
        }
        return superseded
    }
}
