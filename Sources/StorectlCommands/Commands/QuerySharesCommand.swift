internal import ArgumentParser
internal import Tapedeck

/// `storectl query shares`.
struct QuerySharesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shares",
        abstract: "List what you shared and with whom, newest first.",
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
                .time("when"), .text("video"), .text("destinations"), .text("to"), .long("text"),
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
        abstract: "List the email addresses you recently shared with.",
        discussion: """
            EXAMPLE:
              storectl query recipients ad
            """)

    @Argument(help: "List only addresses that start with this prefix.")
    var prefix = ""

    @Option(help: ArgumentHelp("The maximum number of entries, 1 to 500.", valueName: "n"))
    var limit = QueryLimits.pageCountDefault

    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = VideoProjections.standard
        let found = try options.query(projections, [projections.shares]) {
            try $0.recipients(prefix: prefix, limit: limit)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([.text("address"), .time("last shared"), .number("shares")])
            for recipient in found.recipients {
                table.add([
                    recipient.address, recipient.lastAt.description, String(recipient.shares),
                ])
            }
            text.table(table)
        }
    }
}
