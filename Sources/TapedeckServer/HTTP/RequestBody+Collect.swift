internal import Hummingbird
internal import NIOCore
internal import TapedeckModel
internal import TapedeckSyncProtocol

/// What headers say of bodies.
struct BodyHeaders {
    /// How the request's body stands.
    var format: WireFormat
    /// How the answer should stand.
    var answers: WireFormat
    var isCompressed: Bool
    var takesCompressed: Bool

    /// Never throws, for errors that have to be told in some format.
    init(tolerating headers: HTTPFields) {
        let named = headers[.contentType].flatMap { WireFormat(mediaType: $0) }
        format = named ?? .protobuf
        // Who sends no body and names nothing is a person with a browser or curl.
        let usual = headers[.contentType] == nil ? WireFormat.json : format
        answers = BodyHeaders.accepted(headers[.accept]) ?? usual
        isCompressed = false
        takesCompressed = BodyHeaders.takesZstd(headers[.acceptEncoding])
    }

    init(_ headers: HTTPFields) throws(HTTPFailure) {
        self.init(tolerating: headers)
        if let type = headers[.contentType], WireFormat(mediaType: type) == nil {
            throw HTTPFailure.unsupported(
                "a body cannot be \(type.prefix(80))",
                "send \(WireFormat.protobuf.mediaType) or \(WireFormat.json.mediaType)")
        }
        answers = BodyHeaders.accepted(headers[.accept]) ?? format
        switch headers[.contentEncoding]?.lowercased() {
        case nil, "identity": break
        case SyncCompression.coding: isCompressed = true
        case .some(let other):
            throw HTTPFailure.unsupported(
                "a body cannot be encoded as \(other.prefix(80))",
                "send it as it is, or as \(SyncCompression.coding)")
        }
    }

    private static func accepted(_ header: String?) -> WireFormat? {
        header?.split(separator: ",").lazy.compactMap { WireFormat(mediaType: $0) }.first
    }

    private static func takesZstd(_ header: String?) -> Bool {
        guard let header else { return false }
        return header.split(separator: ",").contains { part in
            let words = part.lowercased().filter { $0 != " " }.split(separator: ";")
            let isNone = words.dropFirst().contains {
                $0.hasPrefix("q=") && (Double($0.dropFirst(2)) ?? 1) == 0
            }
            return words.first.map(String.init) == SyncCompression.coding && !isNone
        }
    }
}

extension Request {
    /// Reads the body, undoes its compression, bounded both times by `bytesMax`.
    func collect(
        _ headers: BodyHeaders, bytesMax: Int, _ held: HeldBytes, received: inout Int
    ) async throws -> [UInt8] {
        if let claimed = self.headers[.contentLength].flatMap({ Int($0) }), claimed > bytesMax {
            throw Request.tooLarge(bytesMax)
        }
        let deadline = ContinuousClock.now + .seconds(ServerLimits.bodySecondsMax)
        var bytes: [UInt8] = []
        var parts = body.makeAsyncIterator()
        while let part = try await Request.next(&parts) {
            guard bytes.count + part.readableBytes <= bytesMax else {
                throw Request.tooLarge(bytesMax)
            }
            received += part.readableBytes
            try held.add(part.readableBytes)
            bytes.append(contentsOf: part.readableBytesView)
            guard ContinuousClock.now < deadline else {
                var failure = HTTPFailure(
                    ServerError(
                        .unavailable,
                        "a body took more than \(ServerLimits.bodySecondsMax) s to arrive",
                        hint: "send less at a time"))
                failure.closesConnection = true
                throw failure
            }
        }
        guard headers.isCompressed else { return bytes }
        let whole = try ServerError.wrapping {
            try bytes.withUnsafeBytes { try SyncCompression.decompress($0, countMax: bytesMax) }
        }
        try held.add(whole.count)
        return whole
    }

    /// The next part of a body.
    ///
    /// Where there is none although more was announced, the other side has gone: no failure of this one.
    private static func next(
        _ parts: inout RequestBody.AsyncIterator
    ) async throws -> ByteBuffer? {
        do {
            return try await parts.next()
        } catch {
            var failure = HTTPFailure(
                ServerError(.offline, "the other side went away in the middle of a body"),
                status: HTTPFailure.clientGone)
            failure.closesConnection = true
            throw failure
        }
    }

    private static func tooLarge(_ bytesMax: Int) -> HTTPFailure {
        var failure = HTTPFailure(
            ServerError(
                .tooLarge, "a body is larger than \(bytesMax) bytes", hint: "send less at a time"))
        failure.closesConnection = true
        return failure
    }
}
