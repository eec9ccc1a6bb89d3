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
    /// Returns the whole body of a response.
    ///
    /// Throws `HTTPBodyError` or the error of `parts`. If the body stops or arrives too slowly,
    /// reading it is cancelled, which closes the connection.
    static func collect<Parts: AsyncSequence & Sendable>(
        _ parts: Parts, bytesMax: Int, _ pace: BodyPace
    ) async throws -> [UInt8] where Parts.Element == ByteBuffer {
        let watchdog = Watchdog(
            pace.clock, deadline: pace.deadline(afterBytes: 0), failure: HTTPBodyError.tooSlow)
        return try await watchdog.watch {
            var bytes: [UInt8] = []
            for try await part in parts {
                guard bytes.count + part.readableBytes <= bytesMax else {
                    throw HTTPBodyError.tooLarge
                }
                bytes.append(contentsOf: part.readableBytesView)
                watchdog.moveDeadline(to: pace.deadline(afterBytes: bytes.count))
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
