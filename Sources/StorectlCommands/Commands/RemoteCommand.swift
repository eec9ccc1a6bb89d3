internal import ArgumentParser
internal import Tapedeck
internal import TapedeckConnectors

/// `storectl remote`.
struct RemoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote",
        abstract: "Connect a store with remote systems, by name.",
        discussion: """
            Which remotes there are stands in the log and is the same on all devices that sync with \
            each other; each of them logs in for itself. Systems: \
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

/// `storectl remote add`.
struct RemoteAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Connect the store with an account of a remote system.",
        discussion: """
            A store holds one account of a system. The same name again changes the address, and asks \
            for a new login there. Nothing is sent yet. An address of a Shelby that ends in /v1 speaks as that \
            of 2012 to 2014 did, any other one as v2. Of TVmaze the schedules of this week are read that \
            --schedule names: a country's code, web for the web channels of all countries, web-US for \
            those of one; by default US. TVmaze takes no login, and BirdTube none to be read.

            EXAMPLE:
              storectl remote add home shelby https://api.example.org
              storectl remote add tv tvmaze https://api.tvmaze.com
              storectl remote add tv tvmaze https://api.tvmaze.com --schedule web-DE
              storectl remote add home shelby http://127.0.0.1:8080 --json
              storectl remote add birds birdtube http://127.0.0.1:8081
            """)

    @Argument(
        help: ArgumentHelp(
            "What you call it: lower-case letters, digits and hyphens.", valueName: "name"))
    var name: String

    @Argument(
        help: ArgumentHelp(
            "Which system: \(Connectors.systems.joined(separator: ", ")).", valueName: "system"),
        completion: .list(Connectors.systems))
    var system: String

    @Argument(help: ArgumentHelp("Its address, without a user name.", valueName: "url"))
    var url: String

    @Option(
        help: ArgumentHelp(
            "A schedule of TVmaze that is read: US, web, web-DE and the like; again for more.",
            valueName: "name"))
    var schedule: [String] = []

    @OptionGroup var options: StoreOptions

    func run() throws {
        let (remote, needsLogin) = try options.withRemotes { remotes in
            let remote = try remotes.add(name, system: system, url: url, parts: schedule)
            return (remote, try remotes.status(remote).needsLogin)
        }
        let document: JSON = [
            "name": .text(remote.name), "system": .text(remote.system), "url": .text(remote.url),
            "schedules": .list(remote.parts.map { .text($0) }),
        ]
        try options.print(document) { text in
            let parts = remote.parts.isEmpty ? "" : ", \(remote.parts.joined(separator: ", "))"
            text.line("added \(remote.name): \(remote.system) at \(remote.url)\(parts)")
            let next = needsLogin ? "storectl login" : "storectl sync"
            text.remark("\(next) \(remote.name) comes next")
        }
    }
}

/// `storectl remote list`.
struct RemoteListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Print the remotes of a store and how it stands with them.",
        discussion: """
            It is told from the store alone, without the network.

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
                .text("name"), .text("system"), .text("address"), .text("schedules"),
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

/// `storectl remote remove`.
struct RemoteRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "End a connection, on all devices; what was recorded stays.",
        discussion: """
            The login of this device is deleted. What is not delivered yet goes to nobody unless the \
            remote is added again. It asks first; without a terminal it takes --yes. With the address of \
            a server of sync, this store alone forgets that server.

            EXAMPLE:
              storectl remote remove home
              storectl remote remove http://127.0.0.1:8737
              storectl remote remove home --yes --json
            """)

    @Argument(
        help: ArgumentHelp("The remote's name, or a server's address.", valueName: "name"),
        completion: .default)
    var name: String

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var options: StoreOptions

    func run() throws {
        if name.contains("://") { return try forgetServer() }
        let undelivered = try options.withRemotes { remotes in
            let status = try remotes.status(try remotes.named(name))
            let left = status.undelivered
            try Consent.require(
                yes,
                would: "end the connection with \(name) on all devices"
                    + (left > 0 ? " and leave \(Figures.count(left, "intent")) undelivered" : ""),
                hint: left > 0
                    ? "storectl sync \(name) delivers what it can"
                    : "storectl remote list shows what there is")
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
                    "\(Figures.count(undelivered, "intent")) not delivered, unless it is added again"
                )
            }
        }
    }

    private func forgetServer() throws {
        let undelivered = try options.withLog { log in
            guard let known = try SyncStatus.name(of: name, in: log),
                let status = try SyncStatus.all(in: log).first(where: { $0.server == known })
            else {
                throw CommandError(
                    .notFound, "this store has never been synced with \(name)",
                    hint: "storectl status lists the servers that it knows")
            }
            try Consent.require(
                yes, would: "forget the server \(name)",
                hint: "a sync with it begins anew, and loses nothing")
            _ = try SyncStatus.forget(server: name, in: log)
            return status.undelivered
        }
        let document: JSON = [
            "name": .text(name), "removed": .init(true), "undelivered": .init(undelivered),
        ]
        try options.print(document) { $0.line("forgot \(name)") }
    }
}
