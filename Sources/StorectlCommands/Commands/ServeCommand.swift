internal import ArgumentParser
internal import Foundation
internal import Logging
internal import Tapedeck
internal import TapedeckServer

/// The command `storectl serve`.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run a sync server on this machine.",
        discussion: """
            Devices push their events to the server and pull events from other devices. The \
            server listens on 127.0.0.1 only and prints a command for syncing a store on this \
            machine. Stop it with Ctrl-C or SIGTERM.

            To sync from another machine, create a token for it with storectl token create, copy \
            the token's file there, and forward the port (ssh -L 8737:127.0.0.1:8737 HOST). Or \
            put a proxy with TLS before the server, and sync with an https URL.

            EXAMPLE:
              storectl serve
              storectl serve --data /srv/tapedeck --port 0 --json
            """)

    @Option(
        help: ArgumentHelp(
            "The server's directory (default: tapedeck-server in the XDG data directory).",
            valueName: "dir"), completion: .directory)
    var data: String?

    @Option(help: ArgumentHelp("The port; 0 for any free port.", valueName: "n"))
    var port = SyncServer.Configuration.defaultPort

    @Option(
        help: ArgumentHelp(
            "Refuse events larger than this many bytes (default: no limit).", valueName: "n"))
    var eventBytesMax: Int?

    @Flag(help: "Log every request to stderr.")
    var verbose = false

    @Flag(help: "Print one JSON document instead of text.")
    var json = false

    func validate() throws {
        if !(0...65_535).contains(port) { throw ValidationError("--port must be 0 to 65535") }
        if let eventBytesMax, eventBytesMax < 1 {
            throw ValidationError("--event-bytes-max must be 1 or more")
        }
    }

    func run() async throws {
        var logger = Logger(
            label: "storectl.serve", factory: { VisibleLog(label: $0) })
        logger.logLevel = verbose ? .info : .warning
        let json = json
        let server = try SyncServer(
            SyncServer.Configuration(
                directory: try ServerPlace.directory(data), port: port,
                eventBytesMax: eventBytesMax, logger: logger
            ) { address in
                let command =
                    "storectl sync \(ShellWord.quoted(address.url)) --token-file"
                    + " \(ShellWord.quoted(address.tokenFile))"
                let document: JSON = [
                    "url": .text(address.url), "tokenFile": .text(address.tokenFile),
                    "command": .text(command),
                ]
                // Ignore a failed write: a parent process may wait for the line with the address,
                // but a closed pipe does not stop the server.
                try? StandardOutput.line(json ? document.line : VisibleText.line(command))
            })
        try await server.run()
    }
}

/// Finds the directory in which a server keeps its files.
enum ServerPlace {
    static func directory(_ option: String?) throws -> String {
        if let option {
            guard !option.isEmpty else {
                throw CommandError(.usage, "--data is empty", hint: "specify a directory")
            }
            return absolute(option)
        }
        let environment = ProcessInfo.processInfo.environment
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
            return data + "/tapedeck-server"
        }
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
        return home + "/.local/share/tapedeck-server"
    }

    /// Returns an absolute path, because the printed command must work in any directory.
    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }
}
