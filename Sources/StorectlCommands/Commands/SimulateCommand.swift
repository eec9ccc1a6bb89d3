internal import ArgumentParser
internal import Foundation
internal import Logging
internal import TapedeckTesting

/// The command `storectl simulate`.
struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Run a simulated remote system on this machine.",
        discussion: """
            The system is shelby (API v2 at /v2, v1 at /v1, OAuth at /oauth), tvmaze, whale or birdtube. The \
            simulator imitates the known behaviour of the real system, listens on 127.0.0.1 only, \
            keeps its data in memory, and has a sample account. With --journal, a simulator \
            resumes where it stopped, even after kill -9. Stop it with Ctrl-C or SIGTERM.

            EXAMPLE:
              storectl simulate whale
              storectl simulate shelby --port 8080 --seed 7 --adversary --json
              storectl simulate shelby --port 8080 --journal requests
              storectl simulate birdtube --adversary
            """)

    @Argument(
        help: ArgumentHelp("The system: shelby, tvmaze, whale or birdtube.", valueName: "system"),
        completion: .list(SimulatedSystem.allCases.map(\.rawValue)))
    var system: String

    @Option(help: ArgumentHelp("The port; 0 for any free port.", valueName: "n"))
    var port = 0

    @Option(
        help: ArgumentHelp("The seed of the simulated world (default: random).", valueName: "n")
    )
    var seed: UInt64?

    @Flag(help: "Inject faults: broken connections, expired tokens, changes by other users.")
    var adversary = false

    @Option(
        help: ArgumentHelp(
            "The number of entries on the dashboard of shelby's API v1 (default: 60).",
            valueName: "n"))
    var rows: Int?

    @Option(
        help: ArgumentHelp(
            "Record requests in this file, and replay them at startup to resume.",
            valueName: "path"), completion: .file())
    var journal: String?

    @Flag(help: "Print one JSON document instead of text.")
    var json = false

    func validate() throws {
        if !(0...65_535).contains(port) { throw ValidationError("--port must be 0 to 65535") }
        if let rows, system != SimulatedSystem.shelby.rawValue || !(0...100_000).contains(rows) {
            throw ValidationError("--rows must be 0 to 100000, and only shelby has it")
        }
        if SimulatedSystem(rawValue: system) == nil {
            let names = SimulatedSystem.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError(
                "there is no system \(system.prefix(80)); the systems are \(names)")
        }
    }

    func run() async throws {
        guard let system = SimulatedSystem(rawValue: system) else { return }
        var beginning = SimulatorJournal.Beginning(
            system: system.rawValue, seed: seed ?? SeededGenerator.fromEnvironment().seed,
            isAdverse: adversary, time: SimulatorServer.Configuration.systemTime(), rows: rows)
        let journal = try journal.map { try SimulatorJournal($0, beginning: beginning) }
        if let journal {
            try checkGoesOn(from: journal.beginning)
            beginning = journal.beginning
        }
        let (json, seed) = (json, beginning.seed)
        var logger = Logger(
            label: "storectl.simulate", factory: { VisibleLog(label: $0) })
        logger.logLevel = .warning
        let server = SimulatorServer(
            system.simulator(
                seed: seed, at: beginning.time, rows: beginning.rows,
                adversary: beginning.isAdverse ? .harsh : .none),
            journal: journal,
            configuration: .init(port: port, logger: logger) { url in
                // Ignore a failed write: a parent process may wait for the line with the address,
                // but a closed pipe does not stop the server.
                let line = json ? system.document(url, seed).line : system.line(url, seed)
                try? StandardOutput.line(line)
            })
        try await server.run()
    }

    /// Throws `CommandError` if the journal was started with other arguments.
    private func checkGoesOn(from beginning: SimulatorJournal.Beginning) throws {
        guard beginning.system == system, seed ?? beginning.seed == beginning.seed,
            beginning.isAdverse || !adversary, rows == nil || rows == beginning.rows
        else {
            let adverse =
                (beginning.isAdverse ? " --adversary" : "")
                + (beginning.rows.map { " --rows \($0)" } ?? "")
            throw CommandError(
                .usage,
                "the journal was started with simulate \(beginning.system)"
                    + " --seed \(beginning.seed)\(adverse)",
                hint: "use the same arguments, or name a new file")
        }
    }
}

/// The systems that can be simulated.
private enum SimulatedSystem: String, CaseIterable {
    case shelby
    case tvmaze
    case whale
    case birdtube

    func simulator(
        seed: UInt64, at now: Int64, rows: Int?, adversary: SimulatorAdversary
    ) -> any RemoteSimulator {
        switch self {
        case .shelby:
            ShelbySimulator(
                seed: seed, at: now, entries: rows ?? ShelbyV1World.madeEntries,
                adversary: adversary)
        case .tvmaze: TVmazeSimulator(seed: seed, at: now, adversary: adversary)
        case .whale: WhaleSimulator(seed: seed, at: now, adversary: adversary)
        case .birdtube: BirdTubeSimulator(seed: seed, at: now, adversary: adversary)
        }
    }

    /// The sample account's user, which is the same in every simulated world; nil for TVmaze.
    ///
    /// The account is documented, so its password and token are not secret.
    var user: String? { self == .tvmaze ? nil : SimulatorAccount.user }
    var password: String? { self == .tvmaze ? nil : SimulatorAccount.password }
    var token: String? { self == .shelby ? SimulatorAccount.oauthToken : nil }
    var tokenSecret: String? { self == .shelby ? SimulatorAccount.oauthSecret : nil }

    var consumerKey: String? { self == .shelby ? SimulatorAccount.consumerKey : nil }
    var consumerSecret: String? { self == .shelby ? SimulatorAccount.consumerSecret : nil }

    func document(_ url: String, _ seed: UInt64) -> JSON {
        let members: [(name: String, value: JSON)] = [
            ("url", .text(url)), ("user", JSON(user)), ("password", JSON(password)),
            ("system", .text(rawValue)),
            ("token", JSON(token)), ("tokenSecret", JSON(tokenSecret)),
            ("consumerKey", JSON(consumerKey)), ("consumerSecret", JSON(consumerSecret)),
            ("seed", .unsigned(seed)),
        ]
        return .object(members)
    }

    func line(_ url: String, _ seed: UInt64) -> String {
        let token =
            token.map {
                ", OAuth token \($0), secret \(tokenSecret ?? ""), consumer key"
                    + " \(consumerKey ?? ""), secret \(consumerSecret ?? "")"
            } ?? ""
        let account = user.map { "user \($0), password \"\(password ?? "")\"\(token)" }
        return "\(rawValue) at \(url): \(account ?? "no login"); seed \(seed)"
    }
}
