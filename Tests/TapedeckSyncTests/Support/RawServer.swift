import Foundation
import Synchronization
import Testing

/// A server that answers every connection's first request with the same bytes, and then sends
/// nothing more.
final class RawServer: Sendable {
    private let listener: Int32
    private let connections = Mutex<[Int32]>([])
    let url: String

    convenience init(_ answer: String) throws { try self.init(Array(answer.utf8)) }

    init(_ answer: [UInt8]) throws {
        #if canImport(Glibc)
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let listener = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) | listen(listener, 8)
                    | getsockname(listener, address, &size)
            }
        }
        try #require(result == 0)
        self.listener = listener
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { break }
                connections.withLock { $0.append(connection) }
                var request = [UInt8](repeating: 0, count: 64 << 10)
                _ = recv(connection, &request, request.count, 0)
                _ = send(connection, answer, answer.count, RawServer.noSignal)
            }
            // Only this thread closes the descriptors, because another server could get the same
            // ones while this thread still uses them.
            close(listener)
            connections.withLock { $0.forEach { close($0) } }
        }
    }

    #if canImport(Glibc)
        private static let noSignal = Int32(MSG_NOSIGNAL)
    #else
        private static let noSignal: Int32 = 0
    #endif

    /// Ends all calls of the thread; the listener comes last, because the thread then closes the
    /// descriptors.
    func stop() {
        connections.withLock { $0.forEach { shutdown($0, Int32(SHUT_RDWR)) } }
        shutdown(listener, Int32(SHUT_RDWR))
    }
}
