internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query users`.
struct QueryUsersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "List known users by name.",
        discussion: """
            NAME matches any part of a name, ignoring case and accents.

            EXAMPLE:
              storectl query users
              storectl query users zoe --json
            """)

    @Argument(
        help: ArgumentHelp("List only users whose name contains this text.", valueName: "name"))
    var text = ""

    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = VideoProjections.standard
        let wanted: [any Projection] = [
            projections.users, projections.accounts, projections.following,
        ]
        let found = try options.query(projections, wanted) {
            try $0.users(named: text, limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("user"), .text("name"), .text("first"), .text("last"), .number("followers"),
                .number("following"), .text("followed"),
            ])
            for user in found.users {
                table.add([
                    user.id, user.username, user.firstName, user.lastName,
                    user.followerCount.map(String.init), user.followingCount.map(String.init),
                    user.isOwn ? nil : user.isFollowed ? "yes" : "no",
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}
