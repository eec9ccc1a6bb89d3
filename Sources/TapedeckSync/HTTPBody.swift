internal import NIOCore
internal import Synchronization
internal import TapedeckSyncProtocol

/// The reason why the body of a response was not read to its end.
enum HTTPBodyError: Error {
    case tooLarge
    /// The body stopped or arrived more slowly than `BodyPace` allows.
    case tooSlow
}

/// Sends and receives the bodies of requests and responses.
enum HTTPBody {
    /// The time that may pass between two parts of a body, and between its last part and its end.
    ///
    /// It does not depend on the size of the request, which has been sent by then.
    private static let silenceMax = Duration.seconds(30)

    /// Returns the whole body of a response.
    ///
    /// Throws `HTTPBodyError` or the error of `parts`. If the body stops or arrives too slowly,
    /// reading it is cancelled, which closes the connection.
    static func collect<Parts: AsyncSequence & Sendable>(
        _ parts: Parts, bytesMax: Int, _ pace: BodyPace, _ clock: ConnectionClock
    ) async throws -> [UInt8] where Parts.Element == ByteBuffer {
        let deadline = { @Sendable (count: Int) in
            min(pace.deadline(afterBytes: count), clock.now() + silenceMax)
        }
        let watchdog = Watchdog(clock, deadline: deadline(0))
        return try await watchdog.watch {
            var bytes: [UInt8] = []
            for try await part in parts {
                guard bytes.count + part.readableBytes <= bytesMax else {
                    throw HTTPBodyError.tooLarge
                }
                bytes.append(contentsOf: part.readableBytesView)
                guard !pace.isTooSlow(afterBytes: bytes.count) else { throw HTTPBodyError.tooSlow }
                watchdog.moveDeadline(to: deadline(bytes.count))
            }
            return bytes
        }
    }

    /// Returns a body as parts that are sent one after another.
    static func chunks(of size: Int, _ bytes: [UInt8]) -> AsyncStream<ByteBuffer> {
        let rest = Mutex(bytes[...])
        return AsyncStream {
            rest.withLock { rest in
                guard !rest.isEmpty else { return nil }
                defer { rest = rest.dropFirst(size) }
                return ByteBuffer(bytes: rest.prefix(size))
            }
        }
    }
}
