internal import Synchronization
internal import TapedeckLog
internal import TapedeckModel

/// Notes what is asked of views, and as of when they answer.
final class ReadRecorder: Sendable {
    private struct State {
        var filters: Set<EventFilter> = []
        var reached: ProjectionCheckpoint?
    }

    private let state = Mutex(State())

    /// Whoever has read a key has read the events of these types that are tagged with it.
    func add(_ projection: some Projection, key: Tag?) {
        let filter = EventFilter(tags: key.map { [$0] } ?? [], types: projection.eventTypes)
        state.withLock { _ = $0.filters.insert(filter) }
    }

    /// One of the files that are read has come so far; what is in all of them counts.
    func reach(_ checkpoint: ProjectionCheckpoint) {
        state.withLock { state in
            guard let other = state.reached else { return state.reached = checkpoint }
            let first = checkpoint.position < other.position ? checkpoint : other
            state.reached = ProjectionCheckpoint(
                position: first.position, overrides: min(checkpoint.overrides, other.overrides),
                checksum: first.checksum)
        }
    }

    /// Forgets how far files had come that were not read after all.
    func beginAgain() { state.withLock { $0 = State() } }

    /// Nil where nothing was read.
    var boundary: ReadBoundary? {
        state.withLock { state in
            guard let reached = state.reached, !state.filters.isEmpty else { return nil }
            return ReadBoundary(
                state.filters, position: reached.position, checksum: reached.checksum,
                change: reached.overrides)
        }
    }
}
