public import Logging

extension SyncServer {
    /// How a server behaves.
    public struct Configuration: Sendable {
        /// Where everything is kept; made where there is nothing.
        public var directory: String
        /// The address to listen on.
        public var host: String
        /// The port to listen on; 0 for one that is free.
        public var port: Int
        /// Whether it may listen where others than this machine can hear.
        ///
        /// The server speaks plaintext: only behind something that adds TLS, or in a network that is
        /// trusted.
        public var allowsPlaintextBeyondLoopback: Bool
        /// Events whose canonical bytes are more are refused; nil refuses none.
        public var eventBytesMax: Int?
        /// Whether SIGTERM and SIGINT end the server.
        public var endsOnSignals: Bool
        /// Where it says what it does: each request, never a token or a body.
        public var logger: Logger
        /// Called once it listens.
        public var onListening: @Sendable (Address) -> Void

        /// How often a live connection says that it is alive.
        package var keepAlive = Duration.seconds(ServerLimits.keepAliveSeconds)

        /// The port that a server listens on when nobody names one.
        public static let usualPort = 8_737

        /// Makes a configuration; the defaults suit one user on one machine.
        public init(
            directory: String, host: String = "127.0.0.1", port: Int = Configuration.usualPort,
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

    /// Where a server listens.
    public struct Address: Hashable, Sendable {
        /// The address that was given.
        public let host: String
        /// The port, also where 0 was given.
        public let port: Int
        /// The file that holds a token of the space `default`.
        public let tokenFile: String

        /// What devices are told: `http://127.0.0.1:8737`.
        public var url: String {
            host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
        }
    }
}
