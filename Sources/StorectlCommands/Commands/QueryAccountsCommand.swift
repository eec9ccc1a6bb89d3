internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query accounts`.
struct QueryAccountsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts",
        abstract: "List your accounts on remote systems and their sign-in state.",
        discussion: """
            EXAMPLE:
              storectl query accounts --json
            """)

    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = VideoProjections.standard
        let found = try options.query(projections, [projections.accounts]) {
            try $0.accounts(limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("system"), .text("account"), .text("nickname"), .text("signed in"),
                .long("services"), .long("channels"),
            ])
            for account in found.accounts {
                table.add([
                    account.system, account.account, account.nickname,
                    account.isSignedIn ? "yes" : "no", account.services.joined(separator: ", "),
                    account.channels.joined(separator: ", "),
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}
