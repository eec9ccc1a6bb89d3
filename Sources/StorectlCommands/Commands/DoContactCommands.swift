internal import ArgumentParser
internal import Tapedeck

/// The command `storectl do contact`.
struct DoContactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "contact",
        abstract: "Edit your address book.",
        discussion: """
            A removed address no longer appears in lists of recipients, but it stays in the log. \
            To add an entire address book at once, append ContactNoted events from a file; see \
            storectl append.

            EXAMPLE:
              storectl do contact add ada@example.org --name "Ada Lovelace"
              storectl do contact remove ada@example.org
            """,
        subcommands: [DoContactAddCommand.self, DoContactRemoveCommand.self])
}

/// The command `storectl do contact add`.
struct DoContactAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a person to your address book, or change a person's name.",
        discussion: """
            Addresses that differ only in case are the same address.

            EXAMPLE:
              storectl do contact add ada@example.org --name "Ada Lovelace"
            """)

    @Argument(help: "The email address.")
    var address: String

    @Option(help: "The person's name; without it, a known name is removed.")
    var name: String?

    @OptionGroup var options: StoreOptions

    func run() async throws {
        try await options.note(
            .with {
                $0.address = address
                if let name { $0.name = name }
            })
    }
}

/// The command `storectl do contact remove`.
struct DoContactRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove an address from your address book and from the recent recipients.",
        discussion: """
            The address reappears once you add it again or share a video with it.

            EXAMPLE:
              storectl do contact remove ada@example.org
            """)

    @Argument(help: "The email address.")
    var address: String

    @OptionGroup var options: StoreOptions

    func run() async throws {
        try await options.note(.with { ($0.address, $0.removed) = (address, true) })
    }
}

extension StoreOptions {
    /// Records a change to the address book.
    fileprivate func note(_ contact: ContactNoted) async throws {
        let note = try NoteContacts([contact])
        try await decide(VideoProjections.standard.ofRecipients) { try note.decide($0) }
    }
}
