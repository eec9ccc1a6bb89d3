import NIOCore
import Synchronization

/// The parts of a response that arrive as a script says.
enum ScriptedParts {
    enum Step: Sendable {
        case send([UInt8])
        /// Lets time pass in which nothing arrives, as soon as the timer sleeps.
        case wait(Duration)
        /// Sends nothing until the client closes the connection; hours pass if it does not.
        case hang

        static func send(_ text: String) -> Step { .send(Array(text.utf8)) }
    }

    static func stream(_ steps: [Step], _ stopwatch: Stopwatch) -> AsyncStream<ByteBuffer> {
        let rest = Mutex(steps[...])
        return AsyncStream {
            while let step = rest.withLock({ $0.popFirst() }) {
                switch step {
                case .send(let bytes): return ByteBuffer(bytes: bytes)
                case .wait(let duration):
                    await stopwatch.waitForSleeper()
                    stopwatch.advance(duration)
                case .hang:
                    while true {
                        await stopwatch.waitForSleeper()
                        guard !Task.isCancelled else { return nil }
                        stopwatch.advance(.seconds(3_600))
                    }
                }
            }
            return nil
        }
    }
}
