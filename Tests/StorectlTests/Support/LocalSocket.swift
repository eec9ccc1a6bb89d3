import Foundation

/// The operations on local sockets that tests need.
enum LocalSocket {
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ what: String) { description = "\(what): \(String(cString: strerror(errno)))" }
    }

    private static func make() -> Int32 {
        #if canImport(Glibc)
            let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let file = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        prepare(file)
        return file
    }

    /// Prepares a socket so that no child process inherits it and no stalled peer blocks a thread.
    static func prepare(_ file: Int32) {
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        var one: Int32 = 1
        setsockopt(
            file, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        var timeout = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(
            file, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    private static func withAddress<R>(
        _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
    ) -> R {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// Listens on a port that the system chooses.
    static func listening() throws -> (file: Int32, port: Int) {
        let file = make()
        guard withAddress(0, { bind(file, $0, $1) }) == 0, listen(file, 128) == 0 else {
            defer { close(file) }
            throw Failure("cannot listen")
        }
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let named = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(file, $0, &length)
            }
        }
        guard named == 0 else {
            defer { close(file) }
            throw Failure("cannot get the port")
        }
        return (file, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// Returns an unused port from outside the range that the system assigns automatically.
    static func freePort() throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 20_000..<32_000)
            let file = make()
            defer { close(file) }
            if withAddress(port, { bind(file, $0, $1) }) == 0 { return port }
        }
        throw Failure("no free port")
    }

    static func connected(to port: Int) -> Int32? {
        let file = make()
        if withAddress(port, { connect(file, $0, $1) }) == 0 { return file }
        close(file)
        return nil
    }

    /// Closes a socket so that the other side sees a reset instead of a normal close.
    static func reset(_ file: Int32) {
        var how = linger(l_onoff: 1, l_linger: 0)
        setsockopt(file, SOL_SOCKET, SO_LINGER, &how, socklen_t(MemoryLayout<linger>.size))
        close(file)
    }

    static func isReadable(_ file: Int32, milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }

    /// Returns which of two sockets are readable; a closed connection counts as readable.
    static func readable(
        _ first: Int32, _ second: Int32, milliseconds: Int32
    ) -> (first: Bool, second: Bool) {
        var entries = [first, second].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard poll(&entries, 2, milliseconds) > 0 else { return (false, false) }
        return (entries[0].revents != 0, entries[1].revents != 0)
    }

    static func write(_ bytes: ArraySlice<UInt8>, to file: Int32) -> Bool {
        #if canImport(Glibc)
            let flags = Int32(MSG_NOSIGNAL)
        #else
            let flags: Int32 = 0
        #endif
        return bytes.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let count = send(
                    file, bytes.baseAddress.map { $0 + done }, bytes.count - done, flags)
                guard count > 0 else { return false }
                done += count
            }
            return true
        }
    }
}
