internal import Synchronization
internal import TapedeckLog

/// Lets decisions of this process that rest on the same follow each other.
///
/// Side by side only one of them could be recorded; the others would decide again, each as often as there
/// are others. Those that rest on different things are not in each other's way.
final class DecisionLanes: Sendable {
    /// What a decision rests on; nil for several things, found in each other's way once.
    typealias Lane = EventFilter?

    /// A lane is here while somebody is in it, with those who wait for it in their order.
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
