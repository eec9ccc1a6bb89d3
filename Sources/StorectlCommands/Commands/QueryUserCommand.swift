internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query user`.
struct QueryUserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Show a user's profile (default: your own).",
        discussion: """
            EXAMPLE:
              storectl query user
              storectl query user 7 --json
            """)

    @Argument(help: ArgumentHelp("The user's id.", valueName: "id"))
    var user: String?

    @OptionGroup var options: QueryOptions

    func run() throws {
        if let user { _ = try Tag("user", user) }
        let projections = VideoProjections.standard
        let wanted: [any Projection] = [
            projections.users, projections.accounts, projections.following,
        ]
        let found = try options.query(projections, wanted) { queries in
            let id = try user ?? queries.requireOwnUser()
            guard let found = try queries.user(id) else {
                throw CommandError(
                    .notFound, "user \(id) is unknown",
                    hint: "storectl query users lists the known users")
            }
            return found
        }
        try options.print(JSON(encoding: found)) { text in
            func count(_ value: Int?) -> String { value.map(String.init) ?? "-" }
            text.fields([
                ("user", found.id), ("name", found.username ?? "-"),
                ("first", found.firstName ?? "-"), ("last", found.lastName ?? "-"),
                ("image", found.imageUrl ?? "-"), ("email", found.email ?? "-"),
                ("about", found.about ?? "-"), ("followers", count(found.followerCount)),
                ("following", count(found.followingCount)),
            ])
            if !found.edited.isEmpty {
                text.remark(
                    "edited here, but not yet shown by the remote: "
                        + found.edited.joined(separator: ", "))
            }
        }
    }
}
