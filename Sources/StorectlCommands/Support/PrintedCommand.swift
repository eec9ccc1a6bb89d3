internal import ArgumentParser
internal import Foundation
internal import TapedeckModel

/// Adds the options with which the user chose a store or a server to the commands in printed texts,
/// so that a command works as printed.
enum PrintedCommand {
    /// The options that later commands need, too.
    private static let options = ["--store", "--data"]

    /// The values of these options on this program's command line.
    private static let given = values(in: CommandLine.arguments)

    /// Returns `text` with the user's options added to the commands in it that accept them, as in
    /// `storectl sync --store tv home`.
    ///
    /// The options follow the command's name, where every such command accepts them. A command that
    /// already contains an option is not changed.
    static func completed(_ text: String) -> String { completed(text, with: given) }

    /// - Parameter given: The options and their values.
    static func completed(_ text: String, with given: [(option: String, value: String)]) -> String {
        guard !given.isEmpty else { return text }
        var parts = text.components(separatedBy: program)
        for index in parts.indices.dropFirst() {
            guard let (command, end) = command(at: parts[index]) else { continue }
            let rest = parts[index][end...]
            let help = StorectlCommand.helpMessage(
                for: command.configuration.defaultSubcommand ?? command)
            let added = given.filter {
                help.contains("\($0.option) <") && !rest.contains(" \($0.option) ")
                    && !rest.hasPrefix(" --help")
            }
            parts[index].insert(
                contentsOf: added.map { " \($0.option) \(ShellWord.quoted($0.value))" }.joined(),
                at: end)
        }
        return parts.joined(separator: program)
    }

    private static let program = "storectl "

    /// Returns the command whose name begins a text, and the end of the name; nil if there is no
    /// such command.
    private static func command(
        at text: String
    ) -> (command: any ParsableCommand.Type, end: String.Index)? {
        var found: (command: any ParsableCommand.Type, end: String.Index)?
        var commands = StorectlCommand.configuration.subcommands
        var start = text.startIndex
        while true {
            let word = text[start...].prefix { $0.isLetter || $0 == "-" }
            guard let next = commands.first(where: { $0._commandName == word }) else {
                return found
            }
            found = (next, word.endIndex)
            commands = next.configuration.subcommands
            guard word.endIndex < text.endIndex, text[word.endIndex] == " " else { return found }
            start = text.index(after: word.endIndex)
        }
    }

    /// Returns the values of the options in a command line.
    static func values(in arguments: [String]) -> [(option: String, value: String)] {
        let arguments = arguments.prefix { $0 != "--" }
        return options.compactMap { option in
            if let place = arguments.firstIndex(of: option), place + 1 < arguments.endIndex {
                return (option, arguments[place + 1])
            }
            return arguments.first { $0.hasPrefix(option + "=") }
                .map { (option, String($0.dropFirst(option.count + 1))) }
        }.filter { !$0.value.isEmpty }
    }
}
