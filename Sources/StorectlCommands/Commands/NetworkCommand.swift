internal import ArgumentParser
internal import Tapedeck

/// `storectl network`.
struct NetworkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network",
        abstract: "Show or set this device's network state.",
        discussion: """
            While the network is metered, syncs deliver events, and videos and pictures wait. While it \
            is offline, nothing is sent. Running syncs follow a change within seconds. The state stays \
            until you change it.

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

/// `online`, `metered` or `offline`.
enum NetworkArgument: String, ExpressibleByArgument, CaseIterable {
    case online, metered, offline

    var state: NetworkState { NetworkState(rawValue: rawValue) ?? .online }
}
