internal import ArgumentParser
internal import Tapedeck

/// `storectl erase`.
struct EraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Delete a store, all of it.",
        discussion: """
            Files in its directory that are not the store's stay. While another process is using it, the \
            exit code is 5 and nothing is deleted.

            EXAMPLE:
              storectl erase --yes --store /tmp/demo
            """)

    @Flag(help: "That it is meant so; without it nothing is deleted.")
    var yes = false

    @OptionGroup var options: StoreOptions

    func run() throws {
        let directory = try options.directory()
        guard yes else {
            throw CommandError(
                .usage, "this would delete the store in \(directory) for ever",
                hint: "storectl backup FILE keeps a copy; storectl erase --yes deletes")
        }
        try EventLog.erase(directory)
        try options.print(["path": .text(directory), "erased": .init(true)]) { text in
            text.line("erased the store in \(directory)")
        }
    }
}
