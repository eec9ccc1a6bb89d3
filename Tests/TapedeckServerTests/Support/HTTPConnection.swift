import Foundation

/// A parsed response.
struct HTTPAnswer {
    var status: Int
    /// The values of the headers, by lowercase name.
    var headers: [String: String]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
}

struct HTTPConnectionError: Error {
    var what: String
}

/// A raw connection to a server on this machine, which can send data that no client library would
/// send.
final class HTTPConnection: @unchecked Sendable {
    // Only one caller uses the connection at a time, so its state needs no lock.
    private let file: Int32
    private var buffer: [UInt8] = []

    init(port: Int) throws {
        #if canImport(Glibc)
            file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            file = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            close(file)
            throw HTTPConnectionError(what: "no connection: \(String(cString: strerror(errno)))")
        }
        var timeout = timeval(tv_sec: 300, tv_usec: 0)
        setsockopt(
            file, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(file) }

    /// Ends sending; the connection can still receive.
    func endWriting() { shutdown(file, Int32(SHUT_WR)) }

    func write(_ bytes: [UInt8]) throws {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                send(file, $0.baseAddress.map { $0 + written }, bytes.count - written, noSignal)
            }
            guard count > 0 else { throw HTTPConnectionError(what: "cannot write") }
            written += count
        }
    }

    private var noSignal: Int32 {
        #if canImport(Glibc)
            Int32(MSG_NOSIGNAL)
        #else
            0
        #endif
    }

    func writeHead(_ method: String, _ path: String, _ headers: [String: String]) throws {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        try write(Array((head + "\r\n").utf8))
    }

    /// Reads more bytes; returns false at the end.
    private func fill() throws -> Bool {
        var part = [UInt8](repeating: 0, count: 65_536)
        let count = recv(file, &part, part.count, 0)
        if count < 0 { throw HTTPConnectionError(what: "no data for 300 s, or a reset") }
        buffer += part.prefix(count)
        return count > 0
    }

    /// Returns the next line without its line break, or nil at the end.
    func line() throws -> String? {
        while true {
            if let end = buffer.firstIndex(of: 0x0A) {
                let line = buffer[..<end]
                buffer.removeFirst(end + 1)
                let text = String(decoding: line, as: UTF8.self)
                return text.hasSuffix("\r") ? String(text.dropLast()) : text
            }
            guard try fill() else { return nil }
        }
    }

    private func bytes(_ count: Int) throws -> [UInt8] {
        while buffer.count < count {
            guard try fill() else { throw HTTPConnectionError(what: "the response is truncated") }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer.prefix(count))
    }

    /// Waits until the server closes the connection, and returns whether it sent nothing more.
    func isEnded() -> Bool {
        guard buffer.isEmpty else { return false }
        var byte: UInt8 = 0
        let count = recv(file, &byte, 1, 0)
        // The connection is reset if the server has not read everything.
        return count == 0 || (count < 0 && errno == ECONNRESET)
    }

    func readHead() throws -> HTTPAnswer {
        guard let first = try line() else {
            throw HTTPConnectionError(what: "the connection ended without a response")
        }
        let words = first.split(separator: " ")
        guard words.count >= 2, let status = Int(words[1]) else {
            throw HTTPConnectionError(what: "not a response: \(first)")
        }
        var headers: [String: String] = [:]
        while let line = try line(), !line.isEmpty {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] =
                parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        }
        return HTTPAnswer(status: status, headers: headers, body: [])
    }

    func readAnswer() throws -> HTTPAnswer {
        var answer = try readHead()
        if let count = answer.headers["content-length"].flatMap({ Int($0) }) {
            answer.body = try bytes(count)
        } else if answer.headers["transfer-encoding"] == "chunked" {
            while let part = try chunk() { answer.body += part }
        }
        return answer
    }

    /// Returns the next chunk of a body, or nil after the last chunk.
    func chunk() throws -> [UInt8]? {
        guard let size = try line(), let count = Int(size, radix: 16) else { return nil }
        let part = try bytes(count)
        _ = try line()
        return count == 0 ? nil : part
    }
}
