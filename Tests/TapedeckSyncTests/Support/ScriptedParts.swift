import NIOCore
import Synchronization

/// The parts of a response that arrive as a script says.
enum ScriptedParts {
    enum Step: Sendable {
        case send([UInt8])
        /// Lets time pass in which nothing arrives.
        case wait(Duration)
        /// Keeps the connection open and sends nothing until the client closes the connection.
        case hang

        static func send(_ text: String) -> Step { .send(Array(text.utf8)) }
    }

    static func stream(_ steps: [Step], _ stopwatch: Stopwatch) -> AsyncStream<ByteBuffer> {
        let rest = Mutex(steps[...])
        return AsyncStream {
            while let step = rest.withLock({ $0.popFirst() }) {
                switch step {
                case .send(let bytes): return ByteBuffer(bytes: bytes)
                case .wait(let duration): stopwatch.advance(duration)
                case .hang:
                    let (silence, open) = AsyncStream<Never>.makeStream()
                    for await _ in silence {}
                    open.finish()
                }
            }
            return nil
        }
    }
}
