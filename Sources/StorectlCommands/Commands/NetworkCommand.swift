internal import ArgumentParser
internal import Tapedeck

/// `storectl network`.
struct NetworkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network",
        abstract: "Say what this device's network is, or print what was said.",
        discussion: """
            While it is metered, syncs deliver facts, and videos and pictures wait; while it is offline, \
            nothing is tried. Syncs that are under way heed it within seconds. It stands until the next word.

            EXAMPLE:
              storectl network metered
              storectl network
            """)

    @Argument(help: "online, metered or offline; nothing prints what was said last.")
    var state: NetworkArgument?

    @OptionGroup var options: StoreOptions

    func run() throws {
        let said = state?.state
        let network = try options.withLog(isReading: said == nil) { log in
            guard let said else { return try NetworkState.current(in: log) }
            try said.set(in: log)
            return said
        }
        try options.print(["network": .text(network.rawValue)]) { $0.line(network.rawValue) }
    }
}

/// `online`, `metered` or `offline`.
enum NetworkArgument: String, ExpressibleByArgument, CaseIterable {
    case online, metered, offline

    var state: NetworkState { NetworkState(rawValue: rawValue) ?? .online }
}
