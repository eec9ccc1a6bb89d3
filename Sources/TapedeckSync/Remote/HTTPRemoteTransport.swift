internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import Synchronization
internal import TapedeckModel
package import TapedeckSyncProtocol

/// A connection to a remote.
package protocol RemoteTransport: Sendable {
    /// Sends a request and returns the response, whatever its status.
    ///
    /// Throws `SyncFailure` with `.offline` if there is no response; its `isUnsent` is true if the
    /// request was never sent.
    func send(_ request: RemoteRequest) async throws(SyncFailure) -> RemoteResponse

    func close() async
}

/// A connection to a remote over HTTP.
package struct HTTPRemoteTransport: RemoteTransport {
    private static let connectTimeout = TimeAmount.seconds(5)
    /// The time to wait for the headers of a response.
    ///
    /// The whole response to a request that can change something must arrive in this time, which is
    /// less than `Custody.margin`.
    private static let requestTimeout = Duration.seconds(60)
    /// The time without data after which a connection is considered dead; less is allowed while a
    /// response is being read.
    private static let silenceMax = Duration.seconds(50)
    private static let answerBytesMax = 64 << 20
    private static let chunkBytes = 256 << 10

    /// The address of the remote, without a trailing slash.
    package let base: String
    private let client: HTTPClient
    private let deadlines: BodyDeadlines

    /// - Parameters:
    ///   - base: The address of the remote.
    ///   - deadlines: The deadlines of responses.
    ///
    /// Throws `SyncError` with `.usage` if the address is invalid.
    package init(base: String, deadlines: BodyDeadlines = .system) throws(SyncError) {
        self.deadlines = deadlines
        self.base = try HTTPAddress(base).base
        var configuration = HTTPClient.Configuration()
        configuration.timeout = .init(
            connect: HTTPRemoteTransport.connectTimeout,
            read: TimeAmount(HTTPRemoteTransport.silenceMax))
        configuration.redirectConfiguration = .disallow
        // The client must never repeat a request that may have arrived; the session decides whether
        // to retry.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.idleTimeout = .seconds(5)
        client = HTTPClient.checked(configuration)
    }

    package func close() async { try? await client.shutdown() }

    package func send(_ request: RemoteRequest) async throws(SyncFailure) -> RemoteResponse {
        let prepared = try prepare(request)
        let timeout = HTTPRemoteTransport.requestTimeout
        let pace =
            request.method == "GET"
            ? nil : BodyPace(limit: timeout, bytesPerSecondMin: nil, clock: deadlines.clock)
        do {
            let response = try await client.execute(prepared, timeout: TimeAmount(timeout))
            let body = try await HTTPBody.collect(
                response.body, bytesMax: HTTPRemoteTransport.answerBytesMax, deadlines,
                pace: pace)
            return RemoteResponse(
                status: Int(response.status.code),
                headers: response.headers.map { RemoteRequest.Field($0.name, $0.value) },
                body: body)
        } catch {
            throw error as? SyncFailure ?? HTTPFailure(error, at: base).failure
        }
    }

    private func prepare(_ request: RemoteRequest) throws(SyncFailure) -> HTTPClientRequest {
        var url = base + request.path
        if !request.query.isEmpty { url += "?" + RemoteRequest.encoded(request.query) }
        var prepared = HTTPClientRequest(url: url)
        prepared.method = .RAW(value: request.method)
        prepared.headers.add(name: "Accept", value: "application/json")
        prepared.headers.add(name: "User-Agent", value: "Tapedeck")
        for field in request.headers {
            try HTTPHeader.check(field)
            prepared.headers.add(name: field.name, value: field.value)
        }
        switch request.body {
        case .none: break
        case .form(let fields):
            prepared.headers.add(
                name: "Content-Type", value: "application/x-www-form-urlencoded")
            prepared.body = .bytes(ByteBuffer(string: RemoteRequest.encoded(fields)))
        case .json(let bytes):
            prepared.headers.add(name: "Content-Type", value: "application/json")
            prepared.body = .bytes(ByteBuffer(bytes: bytes))
        case .parts(let parts):
            let multipart = try MultipartBody(parts)
            prepared.headers.add(
                name: "Content-Type", value: "multipart/form-data; boundary=\(multipart.boundary)")
            prepared.body = .stream(
                multipart.chunks(of: HTTPRemoteTransport.chunkBytes),
                length: .known(Int64(multipart.byteCount)))
        }
        return prepared
    }
}

/// A form whose parts are files, streamed from disk.
private struct MultipartBody {
    let boundary = "tapedeck-" + UUID().uuidString
    let byteCount: Int
    private let pieces: [Piece]

    private enum Piece {
        case bytes([UInt8])
        case file(String, count: Int)
    }

    init(_ parts: [RemoteRequest.Part]) throws(SyncFailure) {
        var pieces: [Piece] = []
        var total = 0
        func add(_ text: String) {
            pieces.append(.bytes(Array(text.utf8)))
            total += text.utf8.count
        }
        for part in parts {
            var status = stat()
            guard stat(part.path, &status) == 0 else {
                throw SyncFailure(.notFound, "the file for \(own: part.name) is missing")
            }
            add(
                "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(part.name)\";"
                    + " filename=\"\(part.fileName)\"\r\nContent-Type: \(part.contentType)\r\n\r\n")
            pieces.append(.file(part.path, count: Int(status.st_size)))
            total += Int(status.st_size)
            add("\r\n")
        }
        add("--\(boundary)--\r\n")
        self.pieces = pieces
        byteCount = total
    }

    func chunks(of size: Int) -> AsyncThrowingStream<ByteBuffer, any Error> {
        let source = Mutex(Source(rest: pieces[...]))
        return AsyncThrowingStream { try source.withLock { try $0.next(size) } }
    }

    private struct Source {
        var rest: ArraySlice<Piece>
        var file: (handle: FileHandle, left: Int)?

        mutating func next(_ size: Int) throws -> ByteBuffer? {
            while true {
                if let open = file {
                    let data = try open.handle.read(upToCount: min(size, open.left)) ?? Data()
                    guard !data.isEmpty || open.left == 0 else {
                        throw SyncFailure(.inputOutput, "a file shrank while it was being sent")
                    }
                    file = open.left > data.count ? (open.handle, open.left - data.count) : nil
                    if file == nil { try open.handle.close() }
                    if !data.isEmpty { return ByteBuffer(bytes: data) }
                    continue
                }
                switch rest.popFirst() {
                case nil: return nil
                case .bytes(let bytes): return ByteBuffer(bytes: bytes)
                case .file(let path, let count):
                    guard let handle = FileHandle(forReadingAtPath: path) else {
                        throw SyncFailure(.notFound, "a file to be sent no longer exists")
                    }
                    file = (handle, count)
                }
            }
        }
    }
}
