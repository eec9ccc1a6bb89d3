internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query shares`.
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

extension VideoProjections {
    /// The projections needed to propose a message for a share.
    var ofSharing: [any Projection] {
        [videos, lists, submissions, viewCounts, accounts]
    }
}

/// The command `storectl query share-text`.
struct QueryShareTextCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share-text",
        abstract: "Show the proposed text for sharing a video.",
        discussion: """
            The text contains the video's title, its link and the name of the sharer. For \
            twitter, the title is shortened so that the text fits.

            EXAMPLE:
              storectl query share-text youtube:aqz-KE-bpKQ --to twitter
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @Option(
        help: ArgumentHelp(
            "The destination: twitter, facebook, tumblr or email.", valueName: "destination"),
        completion: .list(["twitter", "facebook", "tumblr", "email"]))
    var to: String

    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = VideoProjections.standard
        let found = try options.query(projections, projections.ofSharing) {
            try $0.shareText(of: video, to: to)
        }
        try options.print(JSON(encoding: found)) { $0.line(VisibleText.line(found.text)) }
    }
}

/// The command `storectl query recipients`.
struct QueryRecipientsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recipients",
        abstract: "List the people to whom you may send a video by email.",
        discussion: """
            The most recent recipients come first, then the rest of the address book by name. See \
            storectl do contact.

            EXAMPLE:
              storectl query recipients ad
            """)

    @Argument(
        help: """
            List only recipients whose address starts with this prefix, or whose name contains a \
            word that starts with it.
            """)
    var prefix = ""

    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = VideoProjections.standard
        let found = try options.query(projections, projections.ofRecipients) {
            try $0.recipients(prefix: prefix, limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("address"), .text("name"), .time("last shared"), .number("shares"),
            ])
            for recipient in found.recipients {
                table.add([
                    recipient.address, recipient.name ?? "", recipient.lastAt?.description ?? "",
                    String(recipient.shares),
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}

extension VideoProjections {
    /// The projections needed to list recipients.
    var ofRecipients: [any Projection] { [contacts, shares] }
}
