internal import AsyncHTTPClient
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
    ///
    /// - Parameter pace: The required pace; nil for the usual one, measured from now.
    static func collect<Parts: AsyncSequence & Sendable>(
        _ parts: Parts, bytesMax: Int, _ deadlines: BodyDeadlines, pace: BodyPace? = nil
    ) async throws -> [UInt8] where Parts.Element == ByteBuffer {
        let pace = pace ?? BodyPace(clock: deadlines.clock)
        let bytes = try await deadlines.watch(pace.deadline(afterBytes: 0)) { move in
            var bytes: [UInt8] = []
            for try await part in parts {
                guard bytes.count + part.readableBytes <= bytesMax else {
                    throw HTTPBodyError.tooLarge
                }
                bytes.append(contentsOf: part.readableBytesView)
                move(pace.deadline(afterBytes: bytes.count))
            }
            return bytes
        }
        guard let bytes else { throw HTTPBodyError.tooSlow }
        return bytes
    }

    /// Returns a body that is sent in parts of `partBytes`, or at once if it has only one part.
    static func sending(
        _ bytes: [UInt8], partBytes: Int
    ) -> HTTPClientRequest.Body {
        bytes.count <= partBytes
            ? .bytes(ByteBuffer(bytes: bytes))
            : .stream(chunks(of: partBytes, bytes), length: .known(Int64(bytes.count)))
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
