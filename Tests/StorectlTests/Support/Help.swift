import Foundation
import Testing

/// The help texts of the program's commands.
struct Help {
    struct Command {
        /// The name of the command without `storectl`, such as `query videos`.
        let name: String
        let text: String
        let options: [String]
    }

    /// The commands, without groups.
    let commands: [Command]
    /// The groups, including the program itself.
    let groups: [Command]

    private struct Dump: Decodable {
        let command: Node
    }

    private struct Node: Decodable {
        struct Argument: Decodable {
            struct Name: Decodable {
                let kind: String
                let name: String
            }
            let names: [Name]?
            let shouldDisplay: Bool
        }
        let commandName: String
        let subcommands: [Node]?
        let arguments: [Argument]?
    }

    static func read() throws -> Help {
        let storectl = try Storectl()
        let run = try storectl.run("--experimental-dump-help")
        let root = try JSONDecoder().decode(Dump.self, from: Data(run.stdout.utf8)).command
        var commands: [Command] = []
        var groups: [Command] = []
        func visit(_ node: Node, _ path: [String]) throws {
            let children = (node.subcommands ?? []).filter { $0.commandName != "help" }
            let help = try storectl.run(path + ["--help"])
            #expect(help.exit == 0 && help.stderr.isEmpty)
            let names = (node.arguments ?? []).filter(\.shouldDisplay).flatMap { $0.names ?? [] }
            let command = Command(
                name: path.joined(separator: " "), text: help.stdout,
                options: names.filter { $0.kind == "long" }.map { "--\($0.name)" }
                    .filter { $0 != "--help" && $0 != "--version" })
            if children.isEmpty { commands.append(command) } else { groups.append(command) }
            for child in children { try visit(child, path + [child.commandName]) }
        }
        try visit(root, [])
        return Help(commands: commands, groups: groups)
    }
}
