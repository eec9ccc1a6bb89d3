import TestSupport
import Testing

/// Help texts have examples and fit a terminal.
@Suite(.offTasks) struct HelpTests {
    @Test func everyCommandHasAnExample() throws {
        let help = try Help.read()
        for command in help.commands + help.groups {
            let examples = command.text.components(separatedBy: "EXAMPLE:\n").dropFirst().first
            let lines = examples?.components(separatedBy: "\n").prefix { !$0.isEmpty } ?? []
            #expect(!lines.isEmpty, "\(command.name)")
            #expect(
                lines.allSatisfy { $0.hasPrefix("  ") },
                "an example of \(command.name) is broken: \(lines)")
            let own = "storectl \(command.name)"
            #expect(lines.contains { $0.contains(own) }, "\(command.name)")
        }
    }

    @Test func helpLinesFitTheTerminal() throws {
        for command in try Help.read().commands {
            // Usage lines come from the parser and are wrapped by the terminal.
            let lines = command.text.components(separatedBy: "\n").filter { !$0.hasPrefix("USAGE") }
            for line in lines { #expect(line.count <= 100, "\(command.name)") }
        }
    }

    @Test func versionIsOneLine() throws {
        let run = try Storectl().succeed("--version")
        #expect(run.stdout.hasPrefix("storectl "))
        #expect(run.stdout.filter { $0 == "\n" }.count == 1)
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completionsNameTheCommands(_ shell: String) throws {
        let script = try Storectl().succeed("completions", shell).stdout
        for name in ["ingest", "watch-later", "doctor"] { #expect(script.contains(name)) }
    }

    /// The shell runs the program in this way when the user presses Tab after `sync`.
    @Test func remotesAreCompletedFromTheStoreOfTheCommandLine() throws {
        let (mine, other) = (try Storectl.empty(), try Storectl.empty())
        try mine.succeed("remote", "add", "shows", "tvmaze", "http://127.0.0.1:1")
        let tab = ["---completion", "sync", "--", "positional@0", "2", "0", "storectl", "sync"]
        #expect(try mine.run(tab + [""]).stdout == "shows\n")
        #expect(try other.run(tab + [""]).stdout == "\n")
        for words in [["--store", mine.store, ""], ["--store=" + mine.store, ""]] {
            #expect(try other.run(tab + words).stdout == "shows\n")
        }
        let missing = try mine.run(tab + ["--store", mine.store + "-2", ""])
        #expect(missing.exit == 0 && missing.stderr.isEmpty)
    }
}
