internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import TapedeckModel
package import TapedeckSyncProtocol

/// Connects to a server over HTTP.
package struct HTTPSyncConnector: SyncConnector {
    /// The time to wait for a connection.
    private static let connectTimeout = TimeAmount.seconds(5)
    /// The time to wait for the headers of a response before the server is considered unreachable,
    /// in addition to the time that the request takes to be sent.
    private static let requestTimeout = TimeAmount.seconds(60)
    /// The time to wait for the headers of the response to a handshake, which servers send
    /// immediately.
    private static let handshakeTimeout = TimeAmount.seconds(20)
    /// The time without data after which any connection except a live one is considered dead; less
    /// is allowed while a response is being read.
    ///
    /// The silence begins when the system has taken over the last part of the request, so a slow
    /// link must be able to send the system's buffer in this time: at 8 kB/s, a usual push.
    private static let requestSilenceMax = TimeAmount.seconds(140)
    /// The size of the parts in which a request is sent.
    private static let partBytes = 32 << 10
    private static let errorBytesMax = 64 << 10
    /// The maximum size of a response: the largest page plus its framing.
    private static let answerBytesMax = SyncLimits.pullBytesMax * 2 + (4 << 20)

    private let base: String
    private let token: @Sendable () -> String
    private let client: HTTPClient
    private let deadlines: BodyDeadlines

    /// - Parameters:
    ///   - token: Returns the token; called for each request, because the token can change.
    ///   - deadlines: The deadlines of responses.
    package init(
        _ address: HTTPAddress, deadlines: BodyDeadlines = .system,
        token: @escaping @Sendable () -> String
    ) {
        self.deadlines = deadlines
        base = address.base
        self.token = token
        var configuration = HTTPClient.Configuration()
        configuration.timeout = .init(
            connect: HTTPSyncConnector.connectTimeout, read: HTTPSyncConnector.requestSilenceMax)
        configuration.redirectConfiguration = .disallow
        // The session schedules and reports retries itself.
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient.checked(configuration)
    }

    package func close() async { try? await client.shutdown() }

    // MARK: - Requests

    package func send(_ request: SyncRequest) async throws(SyncFailure) -> SyncResponse {
        switch request {
        case .handshake(let body):
            .handshake(
                try await post(
                    "/v1/handshake", body, timeout: HTTPSyncConnector.handshakeTimeout))
        case .lineage(let body): .handshake(try await post("/v1/lineage", body))
        case .push(let body): .push(try await post("/v1/push", body))
        case .pull(let body): .pull(try await post("/v1/pull", body))
        }
    }

    private func post<Answer: WireMessage>(
        _ path: String, _ message: some WireMessage,
        timeout: TimeAmount = HTTPSyncConnector.requestTimeout
    ) async throws(SyncFailure) -> Answer {
        do {
            var request = try self.request(path)
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-protobuf")
            request.headers.add(name: "Accept", value: "application/x-protobuf")
            request.headers.add(name: "Accept-Encoding", value: SyncCompression.coding)
            var bytes = try message.encoded(as: .protobuf)
            if bytes.count >= SyncLimits.compressedBytesMin {
                bytes = SyncCompression.compress(bytes)
                request.headers.add(name: "Content-Encoding", value: SyncCompression.coding)
            }
            request.body = HTTPBody.sending(bytes, partBytes: HTTPSyncConnector.partBytes)
            let sending = TimeAmount(BodyPace.time(for: bytes.count))
            let response = try await client.execute(request, timeout: timeout + sending)
            guard response.status == .ok else { throw try await failure(response) }
            guard HTTPSyncConnector.isProtobuf(response) else {
                throw SyncFailure(
                    .malformedRequest, "\(base) does not respond like a Tapedeck server",
                    hint: "check that the address is that of a Tapedeck server")
            }
            return try Answer(decoding: try await body(of: response), as: .protobuf)
        } catch {
            throw SyncFailure(wrapping: error, at: base)
        }
    }

    private func request(_ path: String) throws(SyncFailure) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: base + path)
        request.headers.add(name: "Authorization", value: try HTTPHeader.bearer(token()))
        return request
    }

    private func body(of response: HTTPClientResponse) async throws -> [UInt8] {
        let bytes = try await HTTPBody.collect(
            response.body, bytesMax: HTTPSyncConnector.answerBytesMax, deadlines)
        return try HTTPSyncConnector.unpacked(bytes, response)
    }

    private static func isProtobuf(_ response: HTTPClientResponse) -> Bool {
        response.headers.first(name: "Content-Type").flatMap { WireFormat(mediaType: $0) }
            == .protobuf
    }

    private static func unpacked(
        _ bytes: [UInt8], _ response: HTTPClientResponse
    ) throws(ModelError) -> [UInt8] {
        let coding = response.headers.first(name: "Content-Encoding")?.lowercased()
        guard coding == SyncCompression.coding else { return bytes }
        do {
            return try bytes.withUnsafeBytes {
                try SyncCompression.decompress($0, countMax: answerBytesMax)
            }
        } catch {
            // Servers never send an invalid or oversized body, so the response was altered in
            // transit.
            throw ModelError(.altered, "a response cannot be decompressed")
        }
    }

    private func failure(_ response: HTTPClientResponse) async throws -> SyncFailure {
        let date = response.headers.first(name: "Date").flatMap(HTTPDate.milliseconds)
        let retryAfter = RetryAfter.milliseconds(
            response.headers.first(name: "Retry-After"),
            now: date ?? Int64(Date().timeIntervalSince1970 * 1_000))
        var read: WireErrorResponse?
        let body = try? await HTTPBody.collect(
            response.body, bytesMax: HTTPSyncConnector.errorBytesMax, deadlines)
        if let body {
            // If the response does not come from a Tapedeck server, only its status is used.
            do throws(ModelError) {
                let bytes = try HTTPSyncConnector.unpacked(body, response)
                read = try WireErrorResponse(decoding: bytes, as: .protobuf)
            } catch {
                if error.code == .altered, HTTPSyncConnector.isProtobuf(response) {
                    throw error
                }
            }
        }
        if let error = read?.error, !error.code.isEmpty {
            let code = HTTPSyncConnector.code(
                ErrorCode(rawValue: error.code), status: response.status.code)
            // The server's hint is for authors of HTTP clients.
            if code == .unauthorized {
                return SyncFailure(
                    code, "\(base) rejected the token: \(error.message)",
                    hint: "create a token on the server with storectl token create NAME --data DIR"
                        + " --to FILE, then sync with --token-file FILE",
                    retryAfter: retryAfter)
            }
            return SyncFailure(
                code, "\(error.message)",
                hint: error.hint.isEmpty
                    ? response.status == .notFound ? "check the path of the address" : nil
                    : error.hint,
                retryAfter: retryAfter)
        }
        return SyncFailure(
            HTTPSyncConnector.code(status: response.status.code),
            "\(base) responded with status \(response.status.code), unlike a Tapedeck server",
            hint: "check the address", retryAfter: retryAfter)
    }

    /// Returns the code of a failure.
    ///
    /// - Parameter named: The code in the server's response; nil if it is not from a Tapedeck server.
    ///
    /// Only codes for failures of a remote are used. Other codes, such as `diskFull`, concern the
    /// server's files, but on this device they would mean its own, so the status decides. `tooLarge`
    /// makes a push smaller.
    private static func code(_ named: ErrorCode? = nil, status: UInt) -> ErrorCode {
        if let named, named == .tooLarge || named.exit == .remote { return named }
        return switch status {
        case 300..<400: .redirected
        case 401, 403: .unauthorized
        case 413: .tooLarge
        case 429: .throttled
        case 500...: .unavailable
        default: .malformedRequest
        }
    }

    // MARK: - Live

    package func heads() async throws(SyncFailure) -> AsyncStream<UInt64> {
        do {
            var request = try self.request("/v1/live")
            // A failure is reported as protobuf, as in the other responses.
            request.headers.add(name: "Accept", value: "text/event-stream, application/x-protobuf")
            // The timeout ends with the headers; `LiveHeads` ends dead connections.
            let response = try await client.execute(
                request, timeout: TimeAmount(LiveHeads.silenceMax))
            guard response.status == .ok else { throw try await failure(response) }
            let (body, deadlines) = (response.body, deadlines)
            return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { heads in
                let task = Task {
                    // On any error the stream ends, and the next handshake determines the position.
                    try? await LiveHeads.read(body, deadlines) { heads.yield($0) }
                    heads.finish()
                }
                heads.onTermination = { _ in task.cancel() }
            }
        } catch {
            throw SyncFailure(wrapping: error, at: base)
        }
    }
}

extension SyncFailure {
    /// Converts an error that occurred during a request.
    fileprivate init(wrapping error: any Error, at base: String) {
        switch error {
        case let failure as SyncFailure: self = failure
        case let error as ModelError where error.code == .altered:
            self.init(
                .altered, "a response from \(base) was changed in transit",
                hint: "the request will be repeated; check for faulty proxies")
        case let error as ModelError:
            self.init(
                error.code, "\(base): \(error.message)",
                hint: error.hint ?? "check that the address is that of a Tapedeck server")
        case is CancellationError: self.init(.offline, "the request was cancelled")
        // Timeouts, refused or broken connections and unresolved names are all temporary.
        default: self = HTTPFailure(error, at: base).failure
        }
    }
}
