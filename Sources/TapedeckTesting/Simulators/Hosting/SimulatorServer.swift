internal import Foundation
internal import Hummingbird
internal import HummingbirdCore
public import Logging
internal import NIOCore
public import ServiceLifecycle
internal import Synchronization
internal import TapedeckModel

/// An HTTP server for a simulator, for clients in other processes on this machine.
///
/// ```swift
/// let now = Int64(Date().timeIntervalSince1970 * 1_000)
/// let server = SimulatorServer(
///     WhaleSimulator(seed: 1, at: now), configuration: .init(onListening: { print($0) }))
/// try await server.run()
/// ```
///
/// If the simulator cuts a connection, the client gets no response. The `Date` of each response is
/// the simulator's time. Checkers can send these requests to paths below `/_simulator`, which no
/// simulated system uses:
///
/// | request | response | |---|---| | `GET effects` | the ledger, as a list | | `GET violations` |
/// the requests outside the API description, as a list | | `POST advance?ms=N` | advances time by N
/// milliseconds immediately; `{"now"}` | | `POST expire-tokens` | 204; invalidates all tokens | |
/// `POST calm` | 204; ends fault injection |
///
/// `run` returns after `shutDown()`, and after SIGTERM or SIGINT if `endsOnSignals` is set.
public final class SimulatorServer: Service {
    /// The settings of a server.
    public struct Configuration: Sendable {
        /// The port on 127.0.0.1; 0 for any free port.
        public var port: Int
        /// Whether SIGTERM and SIGINT end the server.
        public var endsOnSignals: Bool
        /// The clock, in milliseconds since 1970.
        public var now: @Sendable () -> Int64
        /// The logger for failures.
        public var logger: Logger
        /// Called with `http://127.0.0.1:PORT` when the server is listening.
        public var onListening: @Sendable (String) -> Void

        /// Creates a configuration.
        public init(
            port: Int = 0, endsOnSignals: Bool = true,
            now: @escaping @Sendable () -> Int64 = Configuration.systemTime,
            logger: Logger = Logger(label: "tapedeck.simulator"),
            onListening: @escaping @Sendable (String) -> Void = { _ in }
        ) {
            self.port = port
            self.endsOnSignals = endsOnSignals
            self.now = now
            self.logger = logger
            self.onListening = onListening
        }

        /// The system's clock, in milliseconds since 1970.
        public static let systemTime: @Sendable () -> Int64 = {
            Int64(Date().timeIntervalSince1970 * 1_000)
        }
    }

    private let configuration: Configuration
    private let host: SimulatorHost
    private let group = Mutex<Stage>(.ready)

    private enum Stage {
        case ready
        case running(ServiceGroup)
        case ended
    }

    /// Creates a server, which starts listening when it is run.
    public convenience init(_ simulator: any RemoteSimulator, configuration: Configuration) {
        self.init(simulator, journal: nil, configuration: configuration)
    }

    /// Creates a server for a new simulator.
    ///
    /// The server replays the journal first, and then appends each request to it.
    package init(
        _ simulator: any RemoteSimulator, journal: SimulatorJournal?, configuration: Configuration
    ) {
        self.configuration = configuration
        host = SimulatorHost(simulator, journal: journal, now: configuration.now)
    }

    /// A copy of the simulator's current state.
    public var simulator: any RemoteSimulator { host.simulator }

    /// Serves requests until shutdown; can be called only once.
    ///
    /// Throws `SimulatorServerError` if the server cannot listen on the port.
    public func run() async throws {
        var options = ServiceGroupConfiguration(
            services: [try server],
            gracefulShutdownSignals: configuration.endsOnSignals ? [.sigterm, .sigint] : [],
            logger: quietLogger)
        options.maximumGracefulShutdownDuration = .seconds(2)
        let services = ServiceGroup(configuration: options)
        let begins = group.withLock { stage in
            guard case .ready = stage else { return false }
            stage = .running(services)
            return true
        }
        guard begins else { throw SimulatorServerError(.closed, "the server has already run") }
        defer { group.withLock { $0 = .ended } }
        do {
            try await services.run()
        } catch let error as IOError {
            throw SimulatorServerError(error, port: configuration.port)
        }
    }

    /// Ends `run`; can be called at any time, and more than once.
    public func shutDown() async {
        let services = group.withLock { stage -> ServiceGroup? in
            if case .running(let services) = stage { return services }
            stage = .ended
            return nil
        }
        await services?.triggerGracefulShutdown()
    }

    private var server: any Service {
        get throws {
            let configuration = configuration
            let responder = SimulatorResponder(host: host)
            // Hummingbird's `Application` would replace the simulator's `Date` header.
            return try HTTPServerBuilder.http1().buildServer(
                configuration: ServerConfiguration(
                    address: .hostname("127.0.0.1", port: configuration.port)),
                eventLoopGroup: EventLoopGroupProvider.singleton.eventLoopGroup,
                logger: quietLogger
            ) { request, writer, channel in
                guard let response = try await responder.respond(to: request) else {
                    return try await channel.close().get()
                }
                try await writer.write(response: response.head, body: response.body)
            } onServerRunning: { channel in
                let port = channel.localAddress?.port ?? configuration.port
                configuration.onListening("http://127.0.0.1:\(port)")
            }
        }
    }

    /// The configured logger, limited to warnings and errors from the underlying libraries.
    private var quietLogger: Logger {
        var logger = configuration.logger
        logger.logLevel = max(logger.logLevel, .warning)
        return logger
    }
}
