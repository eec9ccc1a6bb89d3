internal import Synchronization
internal import TapedeckLog
internal import TapedeckModel

/// Records which views were read, and the checkpoint that they reflect.
final class ReadRecorder: Sendable {
    private struct State {
        var filters: Set<EventFilter> = []
        var reached: ProjectionCheckpoint?
    }

    private let state = Mutex(State())

    /// Notes that a key of a projection was read; if `key` is nil, notes all keys.
    ///
    /// The key depends on all events that have its tag and one of the projection's types.
    func add(_ projection: some Projection, key: Tag?) {
        let filter = EventFilter(tags: key.map { [$0] } ?? [], types: projection.eventTypes)
        state.withLock { _ = $0.filters.insert(filter) }
    }

    /// Notes the checkpoint of a file; the boundary includes only events that all files have
    /// folded.
    func reach(_ checkpoint: ProjectionCheckpoint) {
        state.withLock { state in
            guard let other = state.reached else { return state.reached = checkpoint }
            let first = checkpoint.position < other.position ? checkpoint : other
            state.reached = ProjectionCheckpoint(
                position: first.position, overrides: min(checkpoint.overrides, other.overrides),
                checksum: first.checksum)
        }
    }

    /// Clears everything before a read starts over.
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
