internal import ArgumentParser
internal import Tapedeck
internal import TapedeckConnectors

/// `storectl logout`.
struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Log this device out of a remote.",
        discussion: """
            The login of this device is deleted, and syncs with the remote end, also those that other \
            processes watch. What is not delivered yet waits until the same account logs in again: a store \
            belongs to one account of a system. With --everywhere the remote is asked first to end all \
            sessions of the account, on all devices and in other programs; Shelby's v1 can do that. If that \
            fails, the login stays.

            EXAMPLE:
              storectl logout home
              storectl logout home --everywhere
              storectl logout home --json
            """)

    @Argument(help: ArgumentHelp("The remote's name.", valueName: "name"))
    var name: String

    @Flag(help: "Also end the account's other sessions.")
    var everywhere = false

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let store = try options.openStore()
        defer { store.close() }
        let undelivered = try await StoreRemotes(store).logOut(name, everywhere: everywhere)
        let document: JSON = [
            "name": .text(name), "everywhere": .init(everywhere), "undelivered": .init(undelivered),
        ]
        try options.print(document) { text in
            let left =
                undelivered > 0 ? "; \(Figures.count(undelivered, "intent")) not delivered" : ""
            text.line("logged out of \(name)\(everywhere ? " everywhere" : "")\(left)")
        }
    }
}
