internal import ArgumentParser
internal import Tapedeck
internal import TapedeckConnectors

/// The command `storectl remote`.
struct RemoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote",
        abstract: "Manage the store's connections to remote systems.",
        discussion: """
            Remotes are recorded in the log, so devices that sync with each other have the same \
            remotes. Each device logs in separately. Systems: \
            \(Connectors.systems.joined(separator: ", ")).

            EXAMPLE:
              storectl remote add home shelby https://api.example.org
              storectl login home --token-file token
              storectl sync home
              storectl remote add tv tvmaze https://api.tvmaze.com --schedule web
            """,
        subcommands: [
            RemoteAddCommand.self, RemoteListCommand.self, RemoteRemoveCommand.self,
        ])
}

/// The command `storectl remote add`.
struct RemoteAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Connect the store to an account on a remote system.",
        discussion: """
            A store has one account per system. Adding a remote again under the same name changes \
            its URL; a new URL requires a new login on each device. The remote is not contacted \
            yet. A Shelby URL that ends in /v1 uses the 2012–2014 API; any other URL uses the v2 \
            API. For TVmaze, \
            --schedule selects which of this week's schedules to read: a country code for the \
            networks of that country, web for the web channels of all countries, or web-US for the \
            web channels of one country. TVmaze needs no login, and BirdTube needs none for \
            reading.

            EXAMPLE:
              storectl remote add home shelby https://api.example.org
              storectl remote add tv tvmaze https://api.tvmaze.com
              storectl remote add tv tvmaze https://api.tvmaze.com --schedule web-DE
              storectl remote add home shelby http://127.0.0.1:8080 --json
              storectl remote add birds birdtube http://127.0.0.1:8081
            """)

    @Argument(
        help: ArgumentHelp(
            "A name for the remote: lowercase letters, digits and hyphens.", valueName: "name"))
    var name: String

    @Argument(
        help: ArgumentHelp(
            "The system: \(Connectors.systems.joined(separator: ", ")).", valueName: "system"),
        completion: .list(Connectors.systems))
    var system: String

    @Argument(help: ArgumentHelp("The system's URL, without a user name.", valueName: "url"))
    var url: String

    @Option(
        help: ArgumentHelp(
            "A TVmaze schedule to read, such as US, web or web-DE; may be repeated (default: US).",
            valueName: "name"))
    var schedule: [String] = []

    @OptionGroup var options: StoreOptions

    func run() throws {
        if !schedule.isEmpty, Connectors.systems.contains(system),
            !Connectors.hasSchedules(system)
        {
            throw SyncError(
                .usage, "\(system) has no schedules", hint: "leave --schedule out")
        }
        let (remote, needsLogin) = try options.withRemotes { remotes in
            let remote = try remotes.add(name, system: system, url: url, parts: schedule)
            return (remote, try remotes.status(remote).needsLogin)
        }
        let document: JSON = [
            "name": .text(remote.name), "system": .text(remote.system), "url": .text(remote.url),
            "schedules": remote.schedules, "lists": remote.lists,
        ]
        try options.print(document) { text in
            let parts = remote.parts.isEmpty ? "" : ", \(remote.parts.joined(separator: ", "))"
            text.line("added \(remote.name): \(remote.system) at \(remote.url)\(parts)")
            let next = needsLogin ? "storectl login" : "storectl sync"
            text.remark(PrintedCommand.completed("next: \(next) \(remote.name)"))
        }
    }
}

/// The command `storectl remote list`.
struct RemoteListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the remotes and the state of their syncs.",
        discussion: """
            Only the store is read; no remote is contacted.

            EXAMPLE:
              storectl remote list
              storectl remote list --json
            """)

    @OptionGroup var options: StoreOptions

    func run() throws {
        let statuses = try options.withRemotes { remotes in
            try remotes.all().map { RemoteStatusText(try remotes.status($0)) }
        }
        try options.print(["remotes": .list(statuses.map(\.json))]) { text in
            var table = TextTable([
                .text("name"), .text("system"), .text("url"), .text("parts"),
                .state("state"),
            ])
            for text in statuses {
                let remote = text.status.remote
                let parts = remote.parts.joined(separator: " ")
                table.add([remote.name, remote.system, remote.url, parts, text.line])
            }
            text.table(table)
        }
    }
}

/// The command `storectl remote remove`.
struct RemoteRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a connection on all devices; recorded events stay.",
        discussion: """
            Deletes this device's login. Your other devices delete their logins when they receive \
            the removal; if the remote is added again, each device must log in again. Undelivered \
            intents stay undelivered unless the remote is added again. Asks for confirmation; without a terminal, --yes is required. If NAME is \
            the URL of a sync server, this store forgets the server, and other devices are not \
            affected.

            EXAMPLE:
              storectl remote remove home
              storectl remote remove http://127.0.0.1:8737
              storectl remote remove home --yes --json
            """)

    @Argument(
        help: ArgumentHelp("The remote's name, or a server's URL.", valueName: "name"),
        completion: RemoteNames.completion)
    var name: String

    @Flag(help: "Skip the confirmation.")
    var yes = false

    @OptionGroup var options: StoreOptions

    func run() throws {
        if name.contains("://") { return try forgetServer() }
        let undelivered = try options.withRemotes { remotes in
            let status = try remotes.status(try remotes.named(name))
            let left = status.undelivered
            try Consent.require(
                yes,
                would: "remove the connection to \(name) on all devices"
                    + (left > 0 ? " and leave \(Figures.count(left, "intent")) undelivered" : ""),
                hint: left > 0
                    ? "to deliver them first, run storectl sync \(name)"
                    : "storectl remote list lists the remotes")
            try remotes.remove(name)
            return left
        }
        let document: JSON = [
            "name": .text(name), "removed": .init(true), "undelivered": .init(undelivered),
        ]
        try options.print(document) { text in
            text.line("removed \(name)")
            if undelivered > 0 {
                text.line(
                    "\(Figures.count(undelivered, "intent")) will not be delivered unless the remote is"
                        + " added again")
            }
        }
    }

    private func forgetServer() throws {
        let shown = HTTPAddress.withoutLogin(name)
        let undelivered = try options.withLog { log in
            guard let known = try SyncStatus.name(of: name, in: log),
                let status = try SyncStatus.all(in: log).first(where: { $0.server == known })
            else {
                throw CommandError(
                    .notFound, "this store has never synced with \(HTTPAddress.shown(name))",
                    hint: "storectl status lists the known servers")
            }
            try Consent.require(
                yes, would: "forget the server \(shown)",
                hint: "the next sync with the server starts from the beginning and loses nothing")
            _ = try SyncStatus.forget(server: name, in: log)
            return status.undelivered
        }
        let document: JSON = [
            "name": .text(shown), "removed": .init(true), "undelivered": .init(undelivered),
        ]
        try options.print(document) { $0.line("forgot \(shown)") }
    }
}
