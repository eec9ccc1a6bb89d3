internal import ArgumentParser
internal import Tapedeck

/// The command `storectl erase`.
struct EraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Delete a store, including its logins and media.",
        discussion: """
            Other files in the directory are kept, and so are the targets of symbolic links in the \
            store, which are listed. If another process has the store open, nothing is \
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
        let kept = try EventLog.erase(directory)
        try options.print(
            [
                "path": .text(directory), "erased": .init(true),
                "kept": .list(kept.map { .text($0) }),
            ]
        ) { text in
            text.line("erased the store in \(directory)")
            for target in kept {
                text.line("kept \(target), to which a symbolic link in the store pointed")
            }
        }
    }
}
