internal import Foundation
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
public import ServiceLifecycle
internal import Synchronization
internal import TapedeckLMDB
internal import TapedeckModel
internal import TapedeckSyncProtocol

/// A sync server that devices push to and pull from.
///
/// ```swift
/// let server = try SyncServer(.init(directory: "sync", onListening: { print($0.url) }))
/// try await server.run()
/// ```
///
/// `run` returns after SIGTERM or SIGINT, after `shutDown()`, or when its service group ends. On
/// shutdown the server accepts no new requests, finishes pending requests and closes live
/// connections at the same time.
public final class SyncServer: Service {
    /// The server's configuration.
    public let configuration: Configuration
    package let storage: LMDBStorage
    private let lock: FileLock
    private let group = Mutex<Stage>(.ready)

    private enum Stage {
        case ready
        case running(ServiceGroup)
        case ended
    }

    /// Opens the directory, or creates it with a space named `default` and a token.
    ///
    /// Throws `ServerError`: `.usage` (an invalid port, or an address that other machines can
    /// reach), `.busy` (another server is using the directory), `.newerFormat`, `.damaged`,
    /// `.accessDenied`, `.diskFull`.
    public init(_ configuration: Configuration) throws(ServerError) {
        try SyncServer.check(configuration)
        let directory = ServerDirectory(configuration.directory)
        try directory.create()
        lock = try directory.lockAlone()
        storage = try LMDBStorage(
            directory,
            options: .init(refuses: RefusalPolicies.tooLarge(beyond: configuration.eventBytesMax)))
        self.configuration = configuration
        try storage.settleTokenFile()
    }

    private static func check(_ configuration: Configuration) throws(ServerError) {
        guard isLoopback(configuration.host) || configuration.allowsPlaintextBeyondLoopback else {
            throw ServerError(
                .usage,
                "other machines can reach \(configuration.host), and the server uses plaintext",
                hint: "listen on 127.0.0.1 and use a TLS proxy, or allow plaintext")
        }
        guard (0...65_535).contains(configuration.port) else {
            throw ServerError(.usage, "invalid port \(configuration.port)")
        }
    }

    /// Returns whether only this machine can reach an address.
    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" { return true }
        guard let address = try? SocketAddress(ipAddress: host, port: 0) else { return false }
        switch address {
        case .v4(let address):
            return UInt32(bigEndian: address.address.sin_addr.s_addr) >> 24 == 127
        case .v6:
            return host == "::1"
        case .unixDomainSocket:
            return false
        }
    }

    /// Serves until the server is shut down; can be called only once.
    ///
    /// Throws `ServerError` if it cannot listen.
    public func run() async throws {
        let gate = RequestGate()
        let live = LiveConnections(gate, reminds: configuration.keepAlive)
        storage.observeHeads { live.announce($0, $1) }
        let application = application(gate, live)
        // Services end in reverse order. List the live connections last, so that they end first;
        // otherwise, their requests would never end.
        var options = ServiceGroupConfiguration(
            services: [application, live],
            gracefulShutdownSignals: configuration.endsOnSignals ? [.sigterm, .sigint] : [],
            logger: quietLogger)
        options.maximumGracefulShutdownDuration = .seconds(ServerLimits.shutdownSecondsMax)
        let services = ServiceGroup(configuration: options)
        let begins = group.withLock { stage in
            guard case .ready = stage else { return false }
            stage = .running(services)
            return true
        }
        guard begins else {
            throw ServerError(.closed, "the server has already run", hint: "create a new one")
        }
        defer { end() }
        do {
            try await services.run()
        } catch {
            throw listeningError(error)
        }
    }

    /// Ends `run`; can be called at any time, and more than once.
    public func shutDown() async {
        let services = group.withLock { stage -> ServiceGroup? in
            switch stage {
            case .running(let services): return services
            case .ready, .ended:
                stage = .ended
                return nil
            }
        }
        await services?.triggerGracefulShutdown()
    }

    private func end() {
        group.withLock { $0 = .ended }
        storage.close()
        lock.release()
    }

    private func application(
        _ gate: RequestGate, _ live: LiveConnections
    ) -> Application<SyncResponder> {
        let configuration = configuration
        let tokenFile = storage.directory.tokenFile
        let responder = SyncResponder(
            storage: storage, live: live, metrics: ServerMetrics(), gate: gate,
            logger: configuration.logger,
            protectsMetrics: !SyncServer.isLoopback(configuration.host),
            deadlines: BodyDeadlines(configuration.bodyClock))
        return Application(
            responder: responder,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [HTTPAdapter.Installer()],
                    idleTimeout: .seconds(Int64(ServerLimits.idleSecondsMax)),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: ServerLimits.headerBytesMax,
                        maxHeaderListSize: ServerLimits.headerBytesMax, maxHeaderFieldCount: 100))),
            configuration: .init(
                address: .hostname(configuration.host, port: configuration.port),
                backlog: 1_024,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    ServerLimits.connectionsMax)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? configuration.port
                configuration.onListening(
                    Address(host: configuration.host, port: port, tokenFile: tokenFile))
            },
            logger: quietLogger)
    }

    /// The logger for libraries, which logs only warnings and errors.
    private var quietLogger: Logger {
        var logger = configuration.logger
        logger.logLevel = max(logger.logLevel, .warning)
        return logger
    }

    private func listeningError(_ error: any Error) -> ServerError {
        let place = "\(configuration.host) port \(configuration.port)"
        guard let error = error as? IOError else { return ServerError(wrapping: error) }
        switch error.errnoCode {
        case EADDRINUSE:
            return ServerError(
                .busy, "another program is listening on \(place)", hint: "choose another --port",
                cause: error)
        case EACCES, EPERM:
            return ServerError(
                .accessDenied, "this program is not permitted to listen on \(place)",
                hint: "choose a port above 1023", cause: error)
        case EADDRNOTAVAIL:
            return ServerError(
                .notFound, "this machine has no address \(configuration.host)", cause: error)
        default:
            return ServerError(.unavailable, "cannot listen on \(place)", cause: error)
        }
    }
}
