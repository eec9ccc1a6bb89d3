internal import Synchronization
internal import TapedeckLog

/// Serializes this process's decisions if they depend on the same events.
///
/// If decisions that depend on the same events ran in parallel, only one of them could be recorded
/// at a time, and all the others would have to be repeated. Decisions that depend on different
/// events still run in parallel.
final class DecisionLanes: Sendable {
    /// The events that a decision depends on; nil for a decision that reads arbitrary views and has
    /// already conflicted once.
    typealias Lane = EventFilter?

    /// The lanes in use, each with its waiting tasks in order.
    private let lanes = Mutex<[Lane: [CheckedContinuation<Void, Never>]]>([:])

    func enter(_ lane: Lane) async {
        await withCheckedContinuation { waiting in
            let isFree = lanes.withLock { lanes in
                if lanes[lane] == nil {
                    lanes[lane] = []
                    return true
                }
                lanes[lane]?.append(waiting)
                return false
            }
            if isFree { waiting.resume() }
        }
    }

    func leave(_ lane: Lane) {
        let next = lanes.withLock { lanes -> CheckedContinuation<Void, Never>? in
            guard let waiting = lanes[lane], !waiting.isEmpty else {
                lanes[lane] = nil
                return nil
            }
            return lanes[lane]?.removeFirst()
        }
        next?.resume()
    }
}
