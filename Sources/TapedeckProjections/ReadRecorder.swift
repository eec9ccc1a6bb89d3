internal import Synchronization
internal import TapedeckLog
internal import TapedeckModel

/// Notes the reads of views and the checkpoint that they reflect.
final class ReadRecorder: Sendable {
    private struct State {
        var filters: Set<EventFilter> = []
        var reached: ProjectionCheckpoint?
    }

    private let state = Mutex(State())

    /// Adds a key that was read, which depends on all events of these types with its tag.
    func add(_ projection: some Projection, key: Tag?) {
        let filter = EventFilter(tags: key.map { [$0] } ?? [], types: projection.eventTypes)
        state.withLock { _ = $0.filters.insert(filter) }
    }

    /// Notes the checkpoint of a file; only events that all files have folded count.
    func reach(_ checkpoint: ProjectionCheckpoint) {
        state.withLock { state in
            guard let other = state.reached else { return state.reached = checkpoint }
            let first = checkpoint.position < other.position ? checkpoint : other
            state.reached = ProjectionCheckpoint(
                position: first.position, overrides: min(checkpoint.overrides, other.overrides),
                checksum: first.checksum)
        }
    }

    /// Clears everything, because a read starts over.
    func beginAgain() { state.withLock { $0 = State() } }

    /// The boundary of the reads; nil if nothing was read.
    var boundary: ReadBoundary? {
        state.withLock { state in
            guard let reached = state.reached, !state.filters.isEmpty else { return nil }
            return ReadBoundary(
                state.filters, position: reached.position, checksum: reached.checksum,
                change: reached.overrides)
        }
    }
}
