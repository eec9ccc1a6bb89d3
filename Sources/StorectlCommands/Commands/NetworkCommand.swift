internal import ArgumentParser
internal import Tapedeck

/// The command `storectl network`.
struct NetworkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network",
        abstract: "Show or set this device's network state.",
        discussion: """
            While the network is metered, syncs deliver events, but videos and pictures wait. \
            While the network is offline, nothing is sent. Syncs that are already running notice a \
            change within seconds. The state is kept until you change it.

            EXAMPLE:
              storectl network metered
              storectl network
            """)

    @Argument(help: "The state to set; without it, the current state is printed.")
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

/// The state to set: `online`, `metered` or `offline`.
enum NetworkArgument: String, ExpressibleByArgument, CaseIterable {
    case online, metered, offline

    var state: NetworkState { NetworkState(rawValue: rawValue) ?? .online }
}
