internal import Synchronization
internal import TapedeckLog

/// Serializes decisions of this process that depend on the same events.
///
/// In parallel only one of them could be recorded; the rest would have to decide again, once per
/// competitor. Decisions that depend on different events still run in parallel.
final class DecisionLanes: Sendable {
    /// The events that a decision depends on; nil for a decision that reads arbitrary views and has
    /// already conflicted once.
    typealias Lane = EventFilter?

    /// The lanes in use, each with the tasks waiting for it in order.
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
