internal import NIOCore
internal import Synchronization
internal import TapedeckSyncProtocol

/// The reason why the body of a response was not read to its end.
enum HTTPBodyError: Error {
    case tooLarge
    /// The body arrived more slowly than `BodyPace` allows.
    case tooSlow
}

/// Sends and receives the bodies of requests and responses.
enum HTTPBody {
    /// Returns the whole body of a response.
    ///
    /// Throws `HTTPBodyError` or the error of `parts`.
    static func collect<Parts: AsyncSequence>(
        _ parts: Parts, bytesMax: Int, _ pace: BodyPace
    ) async throws -> [UInt8] where Parts.Element == ByteBuffer {
        var bytes: [UInt8] = []
        for try await part in parts {
            guard bytes.count + part.readableBytes <= bytesMax else { throw HTTPBodyError.tooLarge }
            bytes.append(contentsOf: part.readableBytesView)
            guard !pace.isTooSlow(afterBytes: bytes.count) else { throw HTTPBodyError.tooSlow }
        }
        return bytes
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
