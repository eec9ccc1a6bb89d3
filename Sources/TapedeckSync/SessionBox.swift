internal import Dispatch

/// Runs a session on its own queue, because the session's blocking work must not run in tasks.
final class SessionBox<Session>: @unchecked Sendable {
    // Accessed only on `queue`.
    private var session: Session
    private let queue = DispatchQueue(label: "tapedeck.sync")

    init(_ session: Session) { self.session = session }

    /// Passes an input to the session.
    func perform<Step: Sendable>(
        _ body: @escaping @Sendable (inout Session) throws -> Step
    ) async throws -> Step {
        try await withCheckedThrowingContinuation { waiting in
            queue.async { waiting.resume(with: Result { try body(&self.session) }) }
        }
    }

    /// Reads the session.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Session) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { waiting in
            queue.async { waiting.resume(with: Result { try body(self.session) }) }
        }
    }
}
