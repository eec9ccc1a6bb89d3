internal import Synchronization

/// The functions to call when a space has a new head.
final class HeadObservers: Sendable {
    private let bodies = Mutex<[@Sendable (SpaceID, SpaceHead) -> Void]>([])

    func add(_ body: @escaping @Sendable (SpaceID, SpaceHead) -> Void) {
        bodies.withLock { $0.append(body) }
    }

    func announce(_ heads: [SpaceID: SpaceHead]) {
        let bodies = bodies.withLock { $0 }
        for (space, head) in heads.sorted(by: { $0.key < $1.key }) {
            for body in bodies { body(space, head) }
        }
    }
}
