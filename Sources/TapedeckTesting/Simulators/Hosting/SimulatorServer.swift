internal import Foundation
internal import Hummingbird
public import Logging
internal import NIOCore
public import ServiceLifecycle
internal import Synchronization
internal import TapedeckModel

/// A simulator behind HTTP on this machine, for clients in other processes.
///
/// ```swift
/// let now = Int64(Date().timeIntervalSince1970 * 1_000)
/// let server = SimulatorServer(
///     WhaleSimulator(seed: 1, at: now), configuration: .init { print($0) })
/// try await server.run()
/// ```
///
/// A connection that the simulator cuts ends without an answer. Below `/_simulator`, which no simulated
/// system has, checkers find:
///
/// | request | answer |
/// |---|---|
/// | `GET effects` | the ledger, as a list |
/// | `GET violations` | what no table knows, as a list |
/// | `POST advance?ms=N` | lets N milliseconds pass at once; `{"now"}` |
/// | `POST expire-tokens` | 204 |
/// | `POST calm` | 204; the adversary ends |
///
/// `run` returns after SIGTERM or SIGINT, where it was told so, and after `shutDown()`.
public final class SimulatorServer: Service {
    /// How a server behaves.
    public struct Configuration: Sendable {
        /// The port on 127.0.0.1; 0 for one that is free.
        public var port: Int
        /// Whether SIGTERM and SIGINT end the server.
        public var endsOnSignals: Bool
        /// The time, in Unix milliseconds.
        public var now: @Sendable () -> Int64
        /// Where it says what goes wrong.
        public var logger: Logger
        /// Called once it listens, with `http://127.0.0.1:PORT`.
        public var onListening: @Sendable (String) -> Void

        /// Makes a configuration.
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

        /// The system's clock, in Unix milliseconds.
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

    /// Makes a server; it listens when it is run.
    public convenience init(_ simulator: any RemoteSimulator, configuration: Configuration) {
        self.init(simulator, journal: nil, configuration: configuration)
    }

    /// Makes a server of a simulator that stands at the beginning of a journal, and goes on from its end.
    package init(
        _ simulator: any RemoteSimulator, journal: SimulatorJournal?, configuration: Configuration
    ) {
        self.configuration = configuration
        host = SimulatorHost(simulator, journal: journal, now: configuration.now)
    }

    /// The simulator as it is now; a copy.
    public var simulator: any RemoteSimulator { host.simulator }

    /// Serves until it is told to end; once only.
    ///
    /// Throws `SimulatorServerError` where it cannot listen.
    public func run() async throws {
        var options = ServiceGroupConfiguration(
            services: [application],
            gracefulShutdownSignals: configuration.endsOnSignals ? [.sigterm, .sigint] : [],
            logger: quietLogger)
        options.maximumGracefulShutdownDuration = .seconds(2)
        let services = ServiceGroup(configuration: options)
        let begins = group.withLock { stage in
            guard case .ready = stage else { return false }
            stage = .running(services)
            return true
        }
        guard begins else { throw SimulatorServerError(.closed, "the server has run already") }
        defer { group.withLock { $0 = .ended } }
        do {
            try await services.run()
        } catch let error as IOError {
            throw SimulatorServerError(error, port: configuration.port)
        }
    }

    /// Ends `run`; may be called at any time, and more than once.
    public func shutDown() async {
        let services = group.withLock { stage -> ServiceGroup? in
            if case .running(let services) = stage { return services }
            stage = .ended
            return nil
        }
        await services?.triggerGracefulShutdown()
    }

    private var application: some ApplicationProtocol {
        let configuration = configuration
        return Application(
            responder: SimulatorResponder(host: host),
            configuration: .init(address: .hostname("127.0.0.1", port: configuration.port)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? configuration.port
                configuration.onListening("http://127.0.0.1:\(port)")
            },
            logger: quietLogger)
    }

    /// What the libraries below have to say matters when something goes wrong.
    private var quietLogger: Logger {
        var logger = configuration.logger
        logger.logLevel = max(logger.logLevel, .warning)
        return logger
    }
}
