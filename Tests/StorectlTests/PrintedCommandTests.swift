import TestSupport
import Testing

@testable import StorectlCommands

/// Printed commands contain the options with which the user chose a store or a server.
@Suite(.offTasks) struct PrintedCommandTests {
    @Test(arguments: [
        ("next: storectl login home", "next: storectl login --store 'my tv' home"),
        (
            "check it with storectl verify; otherwise, run storectl replay",
            "check it with storectl verify --store 'my tv'; otherwise, run storectl replay"
                + " --store 'my tv'"
        ),
        (
            "storectl outbox lists them, storectl outbox drop EVENT drops one",
            "storectl outbox --store 'my tv' lists them, storectl outbox drop --store 'my tv' EVENT"
                + " drops one"
        ),
        (
            "storectl query users lists the known users",
            "storectl query users --store 'my tv' lists the known users"
        ),
        ("storectl token list shows all", "storectl token list --data server shows all"),
        // Commands without these options, groups of commands, and texts that are not commands.
        ("storectl completions bash", "storectl completions bash"),
        ("see storectl remote", "see storectl remote"),
        ("storectl login --help shows the options", "storectl login --help shows the options"),
        ("storectl is not a store", "storectl is not a store"),
    ])
    func commandsAreCompleted(_ text: String, _ expected: String) {
        let given = PrintedCommand.values(
            in: ["storectl", "show", "--store", "my tv", "--data=server", "--", "--store", "other"])
        let completed = PrintedCommand.completed(text, with: given)
        #expect(completed == expected)
        #expect(PrintedCommand.completed(completed, with: given) == expected)
        #expect(PrintedCommand.completed(text, with: []) == text)
    }

    @Test func hintsNameTheGivenStore() throws {
        let storectl = try Storectl.empty()
        let other = storectl.directory.path + "/other"
        try storectl.succeed("init", "--store", other)
        try storectl.checkFails("show", "9", "--store", other, code: "notFound", exit: 4)
        let run = try storectl.run("show", "9", "--store", other)
        #expect(run.stderr.contains("hint: storectl log --store \(other) prints the events"))
        #expect(try storectl.run("show", "9").stderr.contains("hint: storectl log prints"))
    }
}
