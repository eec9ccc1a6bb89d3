internal import ArgumentParser
internal import Foundation
internal import TapedeckModel

/// The program `storectl`: parses its arguments, runs the command, prints errors, and exits.
///
/// | outcome | stdout | stderr | exit code |
/// |---|---|---|---|
/// | done | the report | | 0 |
/// | done, some input refused | the report | the refused input | 2 |
/// | a check failed, damage found | the report with `error` | `error:` and `hint:` | 3, 6 |
/// | the command failed | with `--json` the error | `error:` and `hint:` | by error code |
/// | the reader closed the pipe | | | 0 |
/// | interrupted by a signal | | `interrupted:` | by signal |
public enum CommandLineTool {
    /// Runs the program and exits.
    ///
    /// Commands run on the main thread, because they block and must not occupy the threads that
    /// tasks share.
    @MainActor
    public static func run() async -> Never {
        StandardOutput.occupyStandardDescriptors()
        Interruption.unblock()
        // With SIGPIPE ignored, `write` reports a closed pipe as an error, so the command can clean
        // up.
        signal(SIGPIPE, SIG_IGN)
        exit(await run(Array(CommandLine.arguments.dropFirst())))
    }

    /// Runs a command line and returns the exit code.
    @MainActor
    static func run(_ arguments: [String]) async -> Int32 {
        let isJSON = arguments.prefix { $0 != "--" }.contains("--json")
        do {
            guard areArgumentsText else {
                throw CommandError(
                    .usage, "an argument is not valid UTF-8", hint: "encode the arguments as UTF-8")
            }
            var command = try parse(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return 0
        } catch is ClosedPipe {
            return 0
        } catch let failure as ReportedFailure {
            if let error = failure.error { diagnose(error) }
            return failure.exit.rawValue
        } catch is CancellationError {
            return interrupted("nothing was changed")
        } catch let error as Interrupted {
            return interrupted(error.message)
        } catch let error where StorectlCommand.exitCode(for: error) == .success {
            // The parser throws the output of --help and --version as an error.
            return printed(StorectlCommand.fullMessage(for: error))
        } catch {
            return fail(CommandError(error), isJSON)
        }
    }

    private static func parse(_ arguments: [String]) throws -> any ParsableCommand {
        // If help is requested for an unknown command, the parser would show its group's help.
        let command = try checkCommand(arguments.drop { $0 == "help" })
        do {
            return try StorectlCommand.parseAsRoot(arguments)
        } catch let error where StorectlCommand.exitCode(for: error) != .success {
            try checkSubcommand(arguments[...])
            throw CommandError(
                .usage, StorectlCommand.message(for: error),
                hint: "\(command) --help shows its arguments")
        }
    }

    /// Returns the command that the arguments begin with.
    ///
    /// - Throws: `CommandError` if an unknown subcommand follows it.
    private static func checkCommand(_ arguments: ArraySlice<String>) throws -> String {
        let (path, rest) = commandPath(arguments)
        let command = (["storectl"] + path).joined(separator: " ")
        if let name = rest.first, !name.hasPrefix("-"), !subcommands(of: path).isEmpty {
            let similar = similarCommand(to: name, in: subcommands(of: path))
            throw CommandError(
                .usage, "there is no command \(command) \(name.prefix(40))",
                hint: (similar.map { "did you mean \(command) \($0)? " } ?? "")
                    + "\(command) --help lists the commands")
        }
        return command
    }

    /// Throws `CommandError` if an option follows a command that needs a subcommand.
    private static func checkSubcommand(_ arguments: ArraySlice<String>) throws {
        let (path, rest) = commandPath(arguments)
        let configuration = configuration(of: path)
        guard let option = rest.first, !configuration.subcommands.isEmpty,
            configuration.defaultSubcommand == nil
        else { return }
        let command = (["storectl"] + path).joined(separator: " ")
        throw CommandError(
            .usage,
            "\(command) must be followed by the name of a command, not by \(option.prefix(40))",
            hint: (example(in: configuration).map { "for example: \($0); " } ?? "")
                + "\(command) --help lists the commands")
    }

    /// The maximum number of inserted and removed characters in a misspelled command.
    private static let misspellingMax = 3

    /// Returns the command whose name most closely resembles a misspelled name; nil if no name is
    /// similar.
    private static func similarCommand(
        to name: String, in commands: [any ParsableCommand.Type]
    ) -> String? {
        guard name.count <= 40 else { return nil }
        let names = commands.map { command in
            (command._commandName, name.difference(from: command._commandName).count)
        }
        return names.filter { $0.1 <= min(misspellingMax, name.count) }.min { $0.1 < $1.1 }?.0
    }

    /// Splits arguments into the leading command names and the remaining arguments.
    private static func commandPath(
        _ arguments: ArraySlice<String>
    ) -> (path: [String], rest: ArraySlice<String>) {
        var path: [String] = []
        var commands = StorectlCommand.configuration.subcommands
        for argument in arguments {
            guard let found = commands.first(where: { $0._commandName == argument }) else { break }
            path.append(argument)
            commands = found.configuration.subcommands
        }
        return (path, arguments.dropFirst(path.count))
    }

    private static func subcommands(of path: [String]) -> [any ParsableCommand.Type] {
        configuration(of: path).subcommands
    }

    private static func configuration(of path: [String]) -> CommandConfiguration {
        path.reduce(StorectlCommand.configuration) { parent, name in
            parent.subcommands.first { $0._commandName == name }?.configuration
                ?? CommandConfiguration()
        }
    }

    /// Returns the first example in a command's help; nil if there is none.
    private static func example(in configuration: CommandConfiguration) -> String? {
        configuration.discussion.components(separatedBy: "EXAMPLE:\n").dropFirst().first?
            .split(separator: "\n").first?.trimmingCharacters(in: .whitespaces)
    }

    private static func printed(_ text: String) -> Int32 {
        do {
            try StandardOutput.line(text)
            return 0
        } catch {
            return error is ClosedPipe ? 0 : fail(CommandError(error), false)
        }
    }

    private static func fail(_ error: CommandError, _ isJSON: Bool) -> Int32 {
        // If stdout cannot be written to, the error still goes to stderr.
        if isJSON { try? StandardOutput.line(JSON.object([("error", error.json)]).line) }
        diagnose(error)
        return error.code.exit.rawValue
    }

    /// Ends the program with the signal that interrupted it.
    private static func interrupted(_ message: String) -> Int32 {
        StandardOutput.diagnose("interrupted: \(message)")
        Interruption.resend()
        return ExitClass.internal.rawValue
    }

    private static func diagnose(_ error: CommandError) {
        StandardOutput.diagnose("error: \(error.message)")
        if let hint = error.hint { StandardOutput.diagnose("hint: \(hint)") }
    }

    /// Whether all arguments are valid UTF-8.
    ///
    /// Swift replaces invalid bytes, which would silently change a payload.
    private static var areArgumentsText: Bool {
        (0..<Int(CommandLine.argc)).allSatisfy { index in
            guard let argument = CommandLine.unsafeArgv[index] else { return true }
            return String(validatingCString: argument) != nil
        }
    }
}
