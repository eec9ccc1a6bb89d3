internal import ArgumentParser
internal import Tapedeck

/// `storectl query shares`.
struct QuerySharesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shares",
        abstract: "What you have shared, and with whom, the last first.",
        discussion: """
            EXAMPLE:
              storectl query shares --limit 10
            """)

    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = VideoProjections.standard
        let found = try options.query(projections, [projections.shares]) {
            try $0.shares(limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .time("when"), .text("video"), .text("where"), .text("to"), .long("text"),
            ])
            for share in found.shares {
                table.add([
                    share.at.description, share.video, share.destinations.joined(separator: ", "),
                    share.recipients.joined(separator: ", "), share.text,
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}

/// `storectl query recipients`.
struct QueryRecipientsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recipients",
        abstract: "To whom you have sent videos lately.",
        discussion: """
            EXAMPLE:
              storectl query recipients ad
            """)

    @Argument(help: "How the address begins.")
    var prefix = ""

    @Option(help: ArgumentHelp("How many entries at the most, 1 to 500.", valueName: "n"))
    var limit = QueryLimits.pageCountDefault

    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = VideoProjections.standard
        let found = try options.query(projections, [projections.shares]) {
            try $0.recipients(prefix: prefix, limit: limit)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([.text("address"), .time("last"), .number("shares")])
            for recipient in found.recipients {
                table.add([
                    recipient.address, recipient.lastAt.description, String(recipient.shares),
                ])
            }
            text.table(table)
        }
    }
}
