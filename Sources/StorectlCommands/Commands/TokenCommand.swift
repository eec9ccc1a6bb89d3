internal import ArgumentParser
internal import Foundation
internal import Tapedeck
internal import TapedeckServer

/// The command `storectl token`.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Create, list and revoke the tokens of a sync server.",
        discussion: """
            A token grants access to one space of a server. These commands work even while the \
            server is running. Only a hash of a token is stored, so a token is shown only when it \
            is created.

            EXAMPLE:
              storectl token create phone --to phone.token
              storectl token list
              storectl token revoke 3f9a1c20
            """,
        subcommands: [
            TokenCreateCommand.self, TokenListCommand.self, TokenRevokeCommand.self,
        ])
}

/// The options of the token commands.
struct ServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The server's directory (default: tapedeck-server in the XDG data directory).",
            valueName: "dir"), completion: .directory)
    var data: String?

    @Flag(help: "Print one JSON document instead of text.")
    var json = false

    func withStorage<R>(_ body: (TokenStorage) throws -> R) throws -> R {
        let storage = try TokenStorage(try ServerPlace.directory(data))
        defer { storage.close() }
        return try body(storage)
    }

    func print(_ document: JSON, _ text: (inout TextReport) -> Void) throws {
        if json { return try StandardOutput.line(document.line) }
        var report = TextReport()
        text(&report)
        try StandardOutput.write(report.text)
    }
}

/// The command `storectl token create`.
struct TokenCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a token.",
        discussion: """
            EXAMPLE:
              storectl token create phone --to phone.token
              storectl token create laptop --space family
            """)

    @Argument(help: "A name for the token, shown by storectl token list.")
    var name: String

    @Option(help: "The space that the token grants access to; a missing space is created.")
    var space = "default"

    @Option(
        help: ArgumentHelp(
            "Write the token to a new file that only you can read, instead of printing it.",
            valueName: "file"), completion: .file())
    var to: String?

    @OptionGroup var options: ServerOptions

    func run() throws {
        let made = try options.withStorage { storage in
            if let to { try TokenFile.checkIsNew(to) }
            let made = try storage.create(space: space, name: name)
            if let to { try TokenFile.write(made.token, to: to) }
            return made
        }
        let document: JSON = [
            "id": .text(made.id), "name": .text(name), "space": .text(space),
            "token": to == nil ? .text(made.token) : .null, "file": .init(to),
        ]
        try options.print(document) { text in text.line(to ?? made.token) }
    }
}

/// The command `storectl token list`.
struct TokenListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the tokens of a server.",
        discussion: """
            EXAMPLE:
              storectl token list --json
            """)

    @OptionGroup var options: ServerOptions

    func run() throws {
        let tokens = try options.withStorage { try $0.list() }
        let documents: [JSON] = tokens.map { token in
            [
                "id": .text(token.id), "name": .text(token.name), "space": .text(token.space),
                "createdAt": .text(TimeArgument.text(Int64(token.createdAt))),
                "revokedAt": .init(token.revokedAt.map { TimeArgument.text(Int64($0)) }),
            ]
        }
        try options.print(["tokens": .list(documents)]) { text in
            var table = TextTable([
                .text("id"), .text("name"), .text("space"), .time("created"), .time("revoked"),
            ])
            for token in tokens {
                table.add([
                    token.id, token.name, token.space,
                    TimeArgument.text(Int64(token.createdAt)),
                    token.revokedAt.map { TimeArgument.text(Int64($0)) } ?? "-",
                ])
            }
            text.table(table)
        }
    }
}

/// The command `storectl token revoke`.
struct TokenRevokeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke a token; requests with the token are refused from now on.",
        discussion: """
            EXAMPLE:
              storectl token revoke 3f9a1c20
            """)

    @Argument(help: "The token's id; see storectl token list.")
    var id: String

    @OptionGroup var options: ServerOptions

    func run() throws {
        try options.withStorage { try $0.revoke(id) }
        try options.print(["id": .text(id), "revoked": .init(true)]) { text in
            text.line("revoked \(id)")
        }
    }
}
