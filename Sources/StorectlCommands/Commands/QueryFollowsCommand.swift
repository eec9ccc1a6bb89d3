internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query follows`.
struct QueryFollowsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follows",
        abstract: "List a user's followers, or the users whom the user follows.",
        discussion: """
            EXAMPLE:
              storectl query follows 7
              storectl query follows 7 --direction following --json
            """)

    @OptionGroup var subject: FollowOptions
    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let (user, direction) = (subject.user, subject.direction)
        _ = try Tag("user", user)
        let projections = VideoProjections.standard
        let wanted: [any Projection] = [
            projections.followers, projections.following, projections.users,
        ]
        let found = try options.query(projections, wanted) {
            try $0.follows(
                of: user, direction.direction, limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            text.fields([
                ("followers", String(found.followerCount)),
                ("following", String(found.followingCount)),
            ])
            var table = TextTable([.text("user"), .text("name"), .state("state"), .long("message")])
            for user in found.users {
                table.add([user.id, user.username, user.state.rawValue, user.message])
            }
            text.line()
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}

/// The options that select a user, and whether to list followers or followed users.
struct FollowOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The user's id.", valueName: "id"))
    var user: String

    @Option(help: "Whether to list the user's followers or the users whom the user follows.")
    var direction = DirectionArgument.followers
}

/// The users to list: `followers` or `following`.
enum DirectionArgument: String, ExpressibleByArgument, CaseIterable {
    case followers, following

    var direction: FollowList.Direction { self == .followers ? .followers : .following }
}
