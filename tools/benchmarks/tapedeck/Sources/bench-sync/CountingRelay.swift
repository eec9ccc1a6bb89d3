import Foundation
import Glibc
import Synchronization

/// Relays connections to a server and counts all bytes above TCP, including headers and bodies.
final class CountingRelay: Sendable {
    /// The URL on which the relay listens until the program ends.
    let url: String
    private let listener: Int32
    private let target: UInt16
    private let up = ByteCounter()
    private let down = ByteCounter()

    init(to server: String) throws {
        target = try LoadClient.port(server)
        let (file, port) = try Sockets.listen()
        listener = file
        url = "http://127.0.0.1:\(port)"
        Thread.detachNewThread { self.accept() }
    }

    /// Returns the number of bytes sent to the server and received from it since the last call.
    func take() -> (up: Int, down: Int) { (up.take(), down.take()) }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0, let server = try? Sockets.connect(target) else { return }
            var yes: Int32 = 1
            setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, 4)
            let (up, down) = (up, down)
            Thread.detachNewThread { up.pass(from: client, to: server) }
            Thread.detachNewThread { down.pass(from: server, to: client) }
        }
    }
}

private final class ByteCounter: Sendable {
    private let count = Atomic<Int>(0)

    func take() -> Int { count.exchange(0, ordering: .relaxed) }

    func pass(from source: Int32, to target: Int32) {
        var room = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let received = recv(source, &room, room.count, 0)
            guard received > 0 else { break }
            count.add(received, ordering: .relaxed)
            var sent = 0
            while sent < received {
                let passed = room.withUnsafeBytes {
                    send(
                        target, $0.baseAddress.map { $0 + sent }, received - sent,
                        Sockets.noSignal)
                }
                guard passed > 0 else { break }
                sent += passed
            }
            guard sent == received else { break }
        }
        // Shutting down both sockets also ends the thread for the other direction. The descriptors
        // stay open until the program ends.
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }
}
