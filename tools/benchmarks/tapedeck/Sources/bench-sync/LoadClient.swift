import Foundation
import Glibc

/// Many persistent HTTP/1.1 connections in one thread.
///
/// Each connection has at most one request in progress. A client library would use as much
/// processor time as the server that is being measured.
final class LoadClient {
    private var connections: [Connection] = []
    private let authority: String
    private let token: String

    /// Opens the connections without sending a request.
    init(_ url: String, token: String, connections count: Int) throws {
        let port = try LoadClient.port(url)
        authority = "127.0.0.1:\(port)"
        self.token = token
        for _ in 0..<count { connections.append(try Connection(port)) }
    }

    deinit { for connection in connections { close(connection.file) } }

    static func port(_ url: String) throws -> UInt16 {
        guard let parts = URLComponents(string: url), parts.host == "127.0.0.1",
            let port = parts.port.flatMap({ UInt16(exactly: $0) })
        else { throw BenchError("\(url) is not http://127.0.0.1:PORT") }
        return port
    }

    func get(_ path: String) -> [UInt8] { Array(head("GET", path).utf8) + [13, 10] }

    func post(_ path: String, _ body: [UInt8]) -> [UInt8] {
        Array(
            (head("POST", path) + "content-type: application/x-protobuf\r\n"
                + "content-length: \(body.count)\r\n\r\n").utf8) + body
    }

    private func head(_ method: String, _ path: String) -> String {
        "\(method) \(path) HTTP/1.1\r\nhost: \(authority)\r\nauthorization: Bearer \(token)\r\n"
    }

    /// Sends the requests that `next` returns for each connection, until `next` has returned nil
    /// for all connections.
    func run(
        next: (Int) throws -> [UInt8]?, answered: (Int, HTTPAnswer) throws -> Void
    ) throws {
        var busy = 0
        for index in connections.indices {
            guard let request = try next(index) else { continue }
            busy += 1
            try connections[index].begin(request)
        }
        var polls = connections.map { pollfd(file: $0) }
        while busy > 0 {
            for index in polls.indices { polls[index].events = connections[index].interest }
            guard poll(&polls, nfds_t(polls.count), 60_000) > 0 else {
                throw BenchError("the server has not responded for 60 s")
            }
            for index in polls.indices where polls[index].revents != 0 {
                guard let answer = try connections[index].proceed() else { continue }
                try answered(index, answer)
                if let request = try next(index) {
                    try connections[index].begin(request)
                } else {
                    busy -= 1
                }
            }
        }
    }

    /// Sends one request on the first connection.
    func ask(_ request: [UInt8]) throws -> HTTPAnswer {
        var answer: HTTPAnswer?
        try run(
            next: { $0 == 0 && answer == nil ? request : nil }, answered: { answer = $1 })
        guard let answer else { throw BenchError("there is no connection") }
        return answer
    }

    /// Sends the same request on all connections, and stops reading each connection once it has
    /// received `mark`.
    func open(_ request: [UInt8], until mark: String) throws {
        for index in connections.indices { try connections[index].begin(request) }
        try wait(for: mark)
    }

    /// Waits until each connection has received `mark`, and discards the data received until then.
    func wait(for mark: String) throws {
        let mark = Array(mark.utf8)
        var polls = connections.map { pollfd(file: $0) }
        var waiting = Set(connections.indices)
        while !waiting.isEmpty {
            for index in polls.indices { polls[index].events = connections[index].interest }
            guard poll(&polls, nfds_t(polls.count), 60_000) > 0 else {
                throw BenchError("\(waiting.count) connections have received nothing for 60 s")
            }
            for index in polls.indices where polls[index].revents != 0 {
                try connections[index].exchange()
                guard connections[index].received(mark) else { continue }
                waiting.remove(index)
            }
        }
    }
}

struct HTTPAnswer {
    var status: Int
    var body: [UInt8]
}

private struct Connection {
    let file: Int32
    private var outgoing: [UInt8] = []
    private var sent = 0
    private var incoming: [UInt8] = []
    private var isWaiting = false

    init(_ port: UInt16) throws {
        file = try Sockets.connect(port)
        guard fcntl(file, F_SETFL, O_NONBLOCK) == 0 else { throw BenchError("fcntl failed") }
    }

    var interest: Int16 {
        Int16(POLLIN) | (sent < outgoing.count ? Int16(POLLOUT) : 0)
    }

    mutating func begin(_ request: [UInt8]) throws {
        outgoing = request
        sent = 0
        incoming.removeAll(keepingCapacity: true)
        isWaiting = true
        // Do not receive here, because no poll would report a response that has already been
        // received.
        try flush()
    }

    /// Sends and receives as much as possible without blocking; returns the response once it is
    /// complete.
    mutating func proceed() throws -> HTTPAnswer? {
        try exchange()
        guard isWaiting, let answer = try parse() else { return nil }
        isWaiting = false
        return answer
    }

    mutating func exchange() throws {
        try flush()
        try receive()
    }

    private mutating func flush() throws {
        while sent < outgoing.count {
            let count = outgoing.withUnsafeBytes {
                send(file, $0.baseAddress.map { $0 + sent }, $0.count - sent, Sockets.noSignal)
            }
            if count < 0 {
                guard errno == EAGAIN else { throw BenchError("a connection broke: \(errno)") }
                return
            }
            sent += count
        }
    }

    private mutating func receive() throws {
        while true {
            let count = withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 8) { room in
                let count = recv(file, room.baseAddress, room.count, 0)
                if count > 0 { incoming.append(contentsOf: room[..<count]) }
                return count
            }
            if count == 0 { throw BenchError("the server closed a connection") }
            if count < 0 {
                guard errno == EAGAIN else { throw BenchError("a connection broke: \(errno)") }
                return
            }
            if count < 64 << 10 { return }
        }
    }

    /// Whether `mark` has arrived; if so, the received data is discarded.
    mutating func received(_ mark: [UInt8]) -> Bool {
        let isThere = incoming.indices.contains { incoming[$0...].starts(with: mark) }
        guard isThere else { return false }
        incoming.removeAll()
        outgoing = []
        sent = 0
        return true
    }

    private func parse() throws -> HTTPAnswer? {
        guard let head = HTTPHead(incoming) else { return nil }
        guard let length = head.contentLength else {
            throw BenchError("a response with status \(head.status) has no Content-Length")
        }
        guard incoming.count >= head.count + length else { return nil }
        return HTTPAnswer(status: head.status, body: Array(incoming[head.count...]))
    }
}

/// The relevant part of a response's head, parsed by bytes, because it is read for every response.
private struct HTTPHead {
    /// The number of bytes in the head, including the empty line.
    var count = 0
    var status = 0
    var contentLength: Int?

    private static let lengthName = Array("content-length:".utf8)

    /// Nil if the head is incomplete.
    init?(_ bytes: [UInt8]) {
        var start = 0
        for index in bytes.indices where bytes[index] == 10 {
            let line = bytes[start..<index]
            if line.count <= 1 {
                count = index + 1
                return
            }
            if start == 0 {
                status = HTTPHead.number(line.dropFirst(9).prefix(3))
            } else if HTTPHead.isLength(line) {
                contentLength = HTTPHead.number(line.dropFirst(HTTPHead.lengthName.count))
            }
            start = index + 1
        }
        return nil
    }

    private static func isLength(_ line: ArraySlice<UInt8>) -> Bool {
        // Uppercase and lowercase letters differ only in this bit, which is already set in the
        // hyphen and the colon.
        line.count > lengthName.count && zip(line, lengthName).allSatisfy { $0 | 0x20 == $1 }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int {
        digits.reduce(0) { (0x30...0x39).contains($1) ? $0 * 10 + Int($1 - 0x30) : $0 }
    }
}

extension pollfd {
    fileprivate init(file connection: Connection) {
        self.init(fd: connection.file, events: 0, revents: 0)
    }
}

/// Blocking sockets on 127.0.0.1.
enum Sockets {
    static let noSignal = Int32(MSG_NOSIGNAL)
    private static let stream = Int32(SOCK_STREAM.rawValue)

    static func connect(_ port: UInt16) throws -> Int32 {
        let file = socket(AF_INET, stream, 0)
        guard file >= 0 else { throw BenchError("out of sockets; raise the limit on open files") }
        var yes: Int32 = 1
        setsockopt(file, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, 4)
        guard withAddress(port, { Glibc.connect(file, $0, $1) }) == 0 else {
            close(file)
            throw BenchError("no server listens on port \(port)")
        }
        return file
    }

    /// Listens on a free port.
    static func listen() throws -> (file: Int32, port: UInt16) {
        let file = socket(AF_INET, stream, 0)
        guard file >= 0, withAddress(0, { bind(file, $0, $1) }) == 0, Glibc.listen(file, 64) == 0
        else { throw BenchError("cannot listen") }
        var address = sockaddr_in()
        var count = socklen_t(MemoryLayout<sockaddr_in>.size)
        let named = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(file, $0, &count) }
        }
        guard named == 0 else { throw BenchError("cannot listen") }
        return (file, UInt16(bigEndian: address.sin_port))
    }

    private static func withAddress<R>(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
    ) -> R {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
