internal import Dispatch

/// Keeps a session on a queue of its own: what it does blocks, and tasks must not.
final class SessionBox<Session>: @unchecked Sendable {
    // Touched on `queue` only.
    private var session: Session
    private let queue = DispatchQueue(label: "tapedeck.sync")

    init(_ session: Session) { self.session = session }

    /// Gives the session an input.
    func perform<Step: Sendable>(
        _ body: @escaping @Sendable (inout Session) throws -> Step
    ) async throws -> Step {
        try await withCheckedThrowingContinuation { waiting in
            queue.async { waiting.resume(with: Result { try body(&self.session) }) }
        }
    }

    /// Looks at the session.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Session) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { waiting in
            queue.async { waiting.resume(with: Result { try body(self.session) }) }
        }
    }
}
