internal import ArgumentParser
internal import Tapedeck

/// The command `storectl erase`.
struct EraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Delete a store, including its logins and media.",
        discussion: """
            Other files in the directory are kept. If another process has the store open, nothing is \
            deleted and the exit code is 5.

            EXAMPLE:
              storectl erase --yes --store /tmp/demo
            """)

    @Flag(help: "Confirm the deletion. Without this flag nothing is deleted.")
    var yes = false

    @OptionGroup var options: StoreOptions

    func run() throws {
        let directory = try options.directory()
        guard yes else {
            throw CommandError(
                .usage, "this would permanently delete the store in \(directory)",
                hint: "storectl backup FILE saves a copy; storectl erase --yes deletes the store")
        }
        try EventLog.erase(directory)
        try options.print(["path": .text(directory), "erased": .init(true)]) { text in
            text.line("erased the store in \(directory)")
        }
    }
}
