internal import ArgumentParser
internal import Foundation
internal import Logging
internal import TapedeckTesting

/// `storectl simulate`.
struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Run a made-up remote system on this machine.",
        discussion: """
            The system is shelby (API v2 at /v2, v1 at /v1), tvmaze, whale or birdtube. It behaves as the real one \
            is known to, on 127.0.0.1 only, keeps everything in memory, and has a sample account; \
            SIGTERM or SIGINT ends it. With --adversary connections break, tokens expire and \
            others are busy. With --journal it goes on where it was, also after kill -9.

            EXAMPLE:
              storectl simulate whale
              storectl simulate shelby --port 8080 --seed 7 --adversary --json
              storectl simulate shelby --port 8080 --journal requests
              storectl simulate birdtube --adversary
            """)

    @Argument(
        help: ArgumentHelp("Which system: shelby, tvmaze, whale or birdtube.", valueName: "system"))
    var system: String

    @Option(help: ArgumentHelp("The port; 0 for any that is free.", valueName: "n"))
    var port = 0

    @Option(
        help: ArgumentHelp("Everything follows from this number; else a fresh one.", valueName: "n")
    )
    var seed: UInt64?

    @Flag(help: "Make life hard for clients.")
    var adversary = false

    @Option(
        help: ArgumentHelp(
            "Keep every request in a file, and answer those in it again first.",
            valueName: "path"), completion: .file())
    var journal: String?

    @Flag(help: "Print one JSON document instead of text.")
    var json = false

    func validate() throws {
        if !(0...65_535).contains(port) { throw ValidationError("--port must be 0 to 65535") }
        if SimulatedSystem(rawValue: system) == nil {
            let names = SimulatedSystem.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("there is no system \(system.prefix(80)); there are \(names)")
        }
    }

    func run() async throws {
        guard let system = SimulatedSystem(rawValue: system) else { return }
        var beginning = SimulatorJournal.Beginning(
            system: system.rawValue, seed: seed ?? SeededGenerator.fromEnvironment().seed,
            isAdverse: adversary, time: SimulatorServer.Configuration.systemTime())
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
                seed: seed, at: beginning.time,
                adversary: beginning.isAdverse ? .harsh : .none),
            journal: journal,
            configuration: .init(port: port, logger: logger) { url in
                // Whoever started it reads this line to know that it listens; nobody need.
                let line = json ? system.document(url, seed).line : system.line(url, seed)
                try? StandardOutput.line(line)
            })
        try await server.run()
    }

    /// A journal goes on as it began: what is said on the command line must not differ from that.
    private func checkGoesOn(from beginning: SimulatorJournal.Beginning) throws {
        guard beginning.system == system, seed ?? beginning.seed == beginning.seed,
            beginning.isAdverse || !adversary
        else {
            let adverse = beginning.isAdverse ? " --adversary" : ""
            throw CommandError(
                .usage,
                "the journal is of simulate \(beginning.system) --seed \(beginning.seed)\(adverse)",
                hint: "start it so, or name a file that is not there yet")
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
        seed: UInt64, at now: Int64, adversary: SimulatorAdversary
    ) -> any RemoteSimulator {
        switch self {
        case .shelby: ShelbySimulator(seed: seed, at: now, adversary: adversary)
        case .tvmaze: TVmazeSimulator(seed: seed, at: now, adversary: adversary)
        case .whale: WhaleSimulator(seed: seed, at: now, adversary: adversary)
        case .birdtube: BirdTubeSimulator(seed: seed, at: now, adversary: adversary)
        }
    }

    /// The account is the same in every made-up world, and documented: it is no secret.
    ///
    /// TVmaze has none.
    var user: String? { self == .tvmaze ? nil : SimulatorAccount.user }
    var password: String? { self == .tvmaze ? nil : SimulatorAccount.password }
    var token: String? { self == .shelby ? SimulatorAccount.oauthToken : nil }
    var tokenSecret: String? { self == .shelby ? SimulatorAccount.oauthSecret : nil }

    func document(_ url: String, _ seed: UInt64) -> JSON {
        let members: [(name: String, value: JSON)] = [
            ("url", .text(url)), ("user", JSON(user)), ("password", JSON(password)),
            ("system", .text(rawValue)),
            ("token", JSON(token)), ("tokenSecret", JSON(tokenSecret)), ("seed", .unsigned(seed)),
        ]
        return .object(members)
    }

    func line(_ url: String, _ seed: UInt64) -> String {
        let token = token.map { ", OAuth token \($0), secret \(tokenSecret ?? "")" } ?? ""
        let account = user.map { "user \($0), password \"\(password ?? "")\"\(token)" }
        return "\(rawValue) at \(url): \(account ?? "no login"); seed \(seed)"
    }
}
