public import Logging
package import TapedeckSyncProtocol

extension SyncServer {
    /// The configuration of a server.
    public struct Configuration: Sendable {
        /// The directory that stores all data; created if it does not exist.
        public var directory: String
        /// The address to listen on.
        public var host: String
        /// The port to listen on; 0 picks a free port.
        public var port: Int
        /// Whether the server may listen on an address that other machines can reach.
        ///
        /// The server uses plaintext HTTP, so allow such an address only with a TLS proxy or in a
        /// trusted network.
        public var allowsPlaintextBeyondLoopback: Bool
        /// The canonical size in bytes above which an event is refused; nil for no limit.
        public var eventBytesMax: Int?
        /// Whether SIGTERM and SIGINT stop the server.
        public var endsOnSignals: Bool
        /// The logger for requests; tokens and bodies are never logged.
        public var logger: Logger
        /// Called once the server is listening.
        public var onListening: @Sendable (Address) -> Void

        /// The interval of keep-alive messages on a live connection.
        package var keepAlive = Duration.seconds(ServerLimits.keepAliveSeconds)
        /// The clock that measures how fast bodies arrive.
        package var bodyClock = ConnectionClock()

        /// The default port.
        public static let defaultPort = 8_737

        /// The former name of `defaultPort`.
        @available(*, deprecated, renamed: "defaultPort")
        public static var usualPort: Int { defaultPort }

        /// Creates a configuration; the defaults suit one user on one machine.
        public init(
            directory: String, host: String = "127.0.0.1", port: Int = Configuration.defaultPort,
            allowsPlaintextBeyondLoopback: Bool = false, eventBytesMax: Int? = nil,
            endsOnSignals: Bool = true, logger: Logger = Logger(label: "tapedeck.server"),
            onListening: @escaping @Sendable (Address) -> Void = { _ in }
        ) {
            self.directory = directory
            self.host = host
            self.port = port
            self.allowsPlaintextBeyondLoopback = allowsPlaintextBeyondLoopback
            self.eventBytesMax = eventBytesMax
            self.endsOnSignals = endsOnSignals
            self.logger = logger
            self.onListening = onListening
        }
    }

    /// The address of a listening server.
    public struct Address: Hashable, Sendable {
        /// The configured host.
        public let host: String
        /// The actual port, even if 0 was configured.
        public let port: Int
        /// The path of the file that contains a token for the space `default`.
        public let tokenFile: String

        /// The URL for devices, such as `http://127.0.0.1:8737`.
        public var url: String {
            host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
        }
    }
}
