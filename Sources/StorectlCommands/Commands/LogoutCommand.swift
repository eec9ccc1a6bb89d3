internal import ArgumentParser
internal import Tapedeck
internal import TapedeckConnectors

/// The command `storectl logout`.
struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Log this device out of a remote.",
        discussion: """
            Deletes this device's login and ends its syncs with the remote, including those in \
            other processes. Undelivered intents wait until you log in again with the same \
            account, because a store belongs to one account per system. Your other devices stay \
            logged in, and you stay signed in (see storectl query accounts).

            With --everywhere, the remote is first asked to end all sessions of the account, on \
            all devices and in other programs, and you are signed out; only Shelby's v1 API can do this. If the remote \
            fails to end the sessions, this device stays logged in. Each of your other devices \
            deletes its login when it receives the logout from a sync server, and must log in \
            again; this includes logins made before the logout was received. If the command is \
            interrupted, no sync uses the login until you run the command again. Repeating a \
            finished logout changes nothing.

            EXAMPLE:
              storectl logout home
              storectl logout home --everywhere
              storectl logout home --json
            """)

    @Argument(
        help: ArgumentHelp("The remote's name.", valueName: "name"),
        completion: RemoteNames.completion)
    var name: String

    @Flag(help: "Also end the account's other sessions.")
    var everywhere = false

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let store = try options.openStore()
        defer { store.close() }
        let remotes = StoreRemotes(store)
        let isRepeated = try isRepeated(remotes)
        let undelivered = try await remotes.logOut(name, everywhere: everywhere)
        let document: JSON = [
            "name": .text(name), "everywhere": .init(everywhere), "undelivered": .init(undelivered),
        ]
        try options.print(document) { text in
            let left =
                undelivered > 0 ? "; \(Figures.count(undelivered, "intent")) not delivered" : ""
            let already = isRepeated ? "already " : ""
            text.line("\(already)logged out of \(name)\(everywhere ? " everywhere" : "")\(left)")
        }
    }

    private func isRepeated(_ remotes: StoreRemotes) throws -> Bool {
        try everywhere && remotes.isLoggedOutEverywhere(from: name)
    }
}
