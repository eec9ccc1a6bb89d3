internal import Hummingbird
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization
internal import TapedeckModel
internal import TapedeckSyncProtocol

/// The formats and encodings named in a request's headers.
struct BodyHeaders {
    /// The format of the request's body.
    var format: WireFormat
    /// The format of the response.
    var answers: WireFormat
    var isCompressed: Bool
    var takesCompressed: Bool

    /// Parses headers without throwing, to choose a format for error responses.
    init(tolerating headers: HTTPFields) {
        let named = headers[.contentType].flatMap { WireFormat(mediaType: $0) }
        format = named ?? .protobuf
        // A request without a body or content type probably comes from a browser or curl.
        let usual = headers[.contentType] == nil ? WireFormat.json : format
        answers = BodyHeaders.accepted(headers[.accept]) ?? usual
        isCompressed = false
        takesCompressed = BodyHeaders.takesZstd(headers[.acceptEncoding])
    }

    init(_ headers: HTTPFields) throws(HTTPFailure) {
        self.init(tolerating: headers)
        if let type = headers[.contentType], WireFormat(mediaType: type) == nil {
            throw HTTPFailure.unsupported(
                "bodies of type \(type.prefix(80)) are not supported",
                "send \(WireFormat.protobuf.mediaType) or \(WireFormat.json.mediaType)")
        }
        answers = BodyHeaders.accepted(headers[.accept]) ?? format
        if let coding = headers[.transferEncoding], coding.lowercased() != "chunked" {
            throw HTTPFailure.unsupported(
                "the transfer encoding \(coding.prefix(80)) is not supported",
                "send the body as chunked, or with a Content-Length")
        }
        switch headers[.contentEncoding]?.lowercased() {
        case nil, "identity": break
        case SyncCompression.coding: isCompressed = true
        case .some(let other):
            throw HTTPFailure.unsupported(
                "the content encoding \(other.prefix(80)) is not supported",
                "send the body uncompressed, or as \(SyncCompression.coding)")
        }
    }

    private static func accepted(_ header: String?) -> WireFormat? {
        header?.split(separator: ",").lazy.compactMap { WireFormat(mediaType: $0) }.first
    }

    private static func takesZstd(_ header: String?) -> Bool {
        guard let header else { return false }
        return header.split(separator: ",").contains { part in
            let words = part.lowercased().filter { !" \t".contains($0) }.split(separator: ";")
            let isNone = words.dropFirst().contains {
                $0.hasPrefix("q=") && (Double($0.dropFirst(2)) ?? 1) == 0
            }
            return words.first.map(String.init) == SyncCompression.coding && !isNone
        }
    }
}

/// The progress of reading a request's body.
final class BodyProgress: Sendable {
    private let count = Atomic(0)
    private let isEnded = Atomic(false)

    /// The number of bytes read so far.
    var received: Int { count.load(ordering: .relaxed) }
    /// Whether the whole body was read.
    var isWhole: Bool { isEnded.load(ordering: .relaxed) }

    fileprivate func add(_ bytes: Int) { count.wrappingAdd(bytes, ordering: .relaxed) }

    fileprivate func end() { isEnded.store(true, ordering: .relaxed) }
}

extension Request {
    /// Whether the client sends a body, which may be empty.
    var hasBody: Bool {
        headers[.transferEncoding] != nil || (claimedBytes.map { $0 > 0 } ?? false)
    }

    /// The announced size of the body; nil if none was announced.
    private var claimedBytes: Int? { headers[.contentLength].map { Int($0) ?? .max } }

    /// Reads and decompresses the body; `bytesMax` limits its size before and after decompression.
    ///
    /// Throws `HTTPFailure` if the body is too large, stops, or arrives more slowly than `BodyPace`
    /// allows.
    ///
    /// - Parameter stop: Ends the reading of the connection.
    func collect(
        _ headers: BodyHeaders, bytesMax: Int, _ deadlines: BodyDeadlines, _ held: HeldBytes,
        _ progress: BodyProgress, stop: @escaping @Sendable () -> Void
    ) async throws -> [UInt8] {
        if let claimedBytes, claimedBytes > bytesMax { throw Request.tooLarge(bytesMax) }
        let pace = BodyPace(clock: deadlines.clock)
        let number = deadlines.add(pace.deadline(afterBytes: 0), end: stop)
        var bytes: [UInt8] = []
        do {
            var parts = body.makeAsyncIterator()
            while let part = try await Request.next(&parts) {
                guard bytes.count + part.readableBytes <= bytesMax else {
                    throw Request.tooLarge(bytesMax)
                }
                progress.add(part.readableBytes)
                try held.add(part.readableBytes)
                bytes.append(contentsOf: part.readableBytesView)
                deadlines.move(number, to: pace.deadline(afterBytes: bytes.count))
            }
        } catch {
            // If the deadline was missed, the body has failed because its reading was stopped.
            throw deadlines.remove(number) ? Request.tooSlow : error
        }
        if deadlines.remove(number) { throw Request.tooSlow }
        progress.end()
        guard headers.isCompressed else { return bytes }
        let whole = try ServerError.wrapping {
            try bytes.withUnsafeBytes { try SyncCompression.decompress($0, countMax: bytesMax) }
        }
        try held.add(whole.count)
        return whole
    }

    /// Returns the next part of a body.
    ///
    /// If the body ends early, the client has disconnected, which is not a server error.
    private static func next(
        _ parts: inout RequestBody.AsyncIterator
    ) async throws -> ByteBuffer? {
        do {
            return try await parts.next()
        } catch let error as HTTPParserError where error != .invalidEOFState {
            throw HTTPFailure(
                ServerError(
                    .malformedRequest, "the body of the request does not follow HTTP",
                    hint: "check the program and the proxies that sent the request"))
        } catch {
            throw HTTPFailure(
                ServerError(.offline, "the client disconnected in the middle of a body"),
                status: HTTPFailure.clientGone)
        }
    }

    private static func tooLarge(_ bytesMax: Int) -> HTTPFailure {
        HTTPFailure(
            ServerError(
                .tooLarge, "the body is larger than \(bytesMax) bytes",
                hint: "send smaller requests"))
    }

    private static var tooSlow: HTTPFailure {
        HTTPFailure(
            ServerError(
                .unavailable, "the body of the request arrived too slowly",
                hint: "check the network connection, and send smaller requests"))
    }
}
