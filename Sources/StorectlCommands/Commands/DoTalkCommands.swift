internal import ArgumentParser
internal import Tapedeck
internal import TapedeckConnectors

/// The command `storectl do share`.
struct DoShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "Share a video on Twitter, Facebook or Tumblr, or by email.",
        discussion: """
            Each destination is delivered separately. Without --text, the message contains the \
            video's title, its link and the name of the sharer; see storectl query share-text. A \
            message for Twitter may have at most \(ShareText.twitterCharactersMax) characters.

            EXAMPLE:
              storectl do share youtube:aqz-KE-bpKQ --to twitter --to facebook
              storectl do share vimeo:1084537 --to email --recipient ada@example.org --json
            """)

    private static let destinations = ["twitter", "facebook", "tumblr", "email"]

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @Option(
        help: ArgumentHelp(
            "The destination: twitter, facebook, tumblr or email; may be repeated.",
            valueName: "destination"),
        completion: .list(destinations))
    var to: [String]

    @Option(help: "The message.")
    var text: String?

    @Option(
        help: ArgumentHelp("An email recipient; may be repeated.", valueName: "address"))
    var recipient: [String] = []

    @OptionGroup var options: StoreOptions

    func validate() throws {
        if let other = to.first(where: { !DoShareCommand.destinations.contains($0) }) {
            throw ValidationError(
                "--to \"\(other.prefix(40))\" is not a destination; the destinations are "
                    + DoShareCommand.destinations.joined(separator: ", "))
        }
        guard recipient.isEmpty || to.contains("email") else {
            throw ValidationError("--recipient requires --to email")
        }
        guard !recipient.isEmpty || !to.contains("email") else {
            throw ValidationError("--to email requires --recipient ADDRESS")
        }
    }

    func run() async throws {
        let share = try ShareVideo(video, to: to, text: text, recipients: recipient)
        try await options.decide(VideoProjections.standard.ofSharing) { try share.decide($0) }
    }
}

/// The command `storectl do submit`.
struct DoSubmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Submit a YouTube video.",
        discussion: """
            You must be signed in. A video that is already listed or submitted is not submitted again. \
            --page reads the title and the picture from the video's page.

            EXAMPLE:
              storectl do submit https://youtu.be/aqz-KE-bpKQ --title "Big Buck Bunny"
              storectl do submit youtube:aqz-KE-bpKQ --page watch.html
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @Option(help: "The video's title.")
    var title: String?

    @Option(help: ArgumentHelp("The URL of the video's thumbnail.", valueName: "url"))
    var thumbnail: String?

    @Option(
        help: ArgumentHelp(
            "The HTML of the video's page, which supplies a missing title and picture; - is stdin.",
            valueName: "file"))
    var page: String?

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let shown = try page.map { try read($0) }
        let submit = try SubmitVideo(
            video, title: title ?? shown?.title, thumbnail: thumbnail ?? shown?.thumbnail)
        let projections = VideoProjections.standard
        let wanted: [any Projection] = [
            projections.accounts, projections.submissions, projections.viewCounts,
        ]
        try await options.decide(wanted) { try submit.decide($0) }
    }

    /// Reads the video's page from a file; throws if the page belongs to another video.
    private func read(_ file: String) throws -> YouTubePage {
        let page = try YouTubePage(
            html: try FileInput(file).readAll(bytesMax: YouTubePage.bytesMax))
        guard try page.video == VideoKey(video) else {
            throw CommandError(
                .usage, "\(file) is the page of \(page.video)",
                hint: "submit \(page.video) instead, or pass a file that contains the page of "
                    + "\(video.prefix(80))")
        }
        return page
    }
}

/// The command `storectl do chat`.
struct DoChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Post a message in a video's chat.",
        discussion: """
            You must be signed in. A file must already be available at its URL.

            EXAMPLE:
              storectl do chat youtube:aqz-KE-bpKQ "The rabbit wins."
              storectl do chat youtube:aqz-KE-bpKQ --file https://example.org/a.png --json
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @Argument(help: "The message.")
    var text: String?

    @Option(help: ArgumentHelp("The URL of a file to post instead of text.", valueName: "url"))
    var file: String?

    @Option(help: "The file's name.")
    var name: String?

    @Option(help: "The file's media type.")
    var type: String?

    @Option(help: "The file's size in bytes.")
    var bytes: UInt64?

    @OptionGroup var options: StoreOptions

    func validate() throws {
        guard (text == nil) != (file == nil) else {
            throw ValidationError("specify either TEXT or --file")
        }
        guard file != nil || name == nil && type == nil && bytes == nil else {
            throw ValidationError("--name, --type and --bytes require --file")
        }
    }

    func run() async throws {
        let post = try message()
        try await options.decide([VideoProjections.standard.accounts]) { try post.decide($0) }
    }

    private func message() throws -> PostChatMessage {
        guard let file else { return try PostChatMessage(video, text: text ?? "") }
        return try PostChatMessage(
            video,
            file: .with {
                ($0.url, $0.name, $0.type) = (file, name ?? "", type ?? "")
                $0.bytes = bytes ?? 0
            })
    }
}

/// The command `storectl do ask`.
struct DoAskCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ask",
        abstract: "Ask a user a question.",
        discussion: """
            A question that is already waiting to be delivered is not asked again.

            EXAMPLE:
              storectl do ask 7 "Why is the sky blue?"
            """)

    @Argument(help: "The id of the user to ask.")
    var user: String

    @Argument(help: "The question.")
    var text: String

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let ask = try AskQuestion(user, text: text)
        let projections = VideoProjections.standard
        try await options.decide([projections.users, projections.accounts]) { try ask.decide($0) }
    }
}

/// The command `storectl do like`.
struct DoLikeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "like",
        abstract: "Like or unlike a video or an answer.",
        discussion: """
            EXAMPLE:
              storectl do like youtube:aqz-KE-bpKQ
              storectl do like --answer 4711 --off --json
            """)

    @OptionGroup var subject: SubjectOptions

    @Flag(help: "Remove the like.")
    var off = false

    @OptionGroup var options: StoreOptions

    func run() async throws {
        if subject.isVideo {
            try await subject.asVideo {
                let like = try LikeVideo(subject.id, isOn: !off)
                try await options.decide(VideoProjections.standard.ofSharing) {
                    try like.decide($0)
                }
            }
        } else {
            let like = LikeAnswer(subject.id, isOn: !off)
            try await options.decide(VideoProjections.standard.ofAnswers) { try like.decide($0) }
        }
    }
}

/// The command `storectl do comment`.
struct DoCommentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "comment",
        abstract: "Comment on a video or an answer.",
        discussion: """
            EXAMPLE:
              storectl do comment youtube:aqz-KE-bpKQ "The squirrels!"
              storectl do comment --answer 4711 "Well said." --json
            """)

    @OptionGroup var subject: SubjectOptions

    @Argument(help: "The comment.")
    var text: String

    @OptionGroup var options: StoreOptions

    func run() async throws {
        if subject.isVideo {
            try await subject.asVideo {
                let comment = try CommentOnVideo(subject.id, text: text)
                try await options.decide(VideoProjections.standard.ofSharing) {
                    try comment.decide($0)
                }
            }
        } else {
            let comment = try CommentOnAnswer(subject.id, text: text)
            try await options.decide(VideoProjections.standard.ofAnswers) { try comment.decide($0) }
        }
    }
}

/// The command `storectl do follow`.
struct DoFollowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Follow or unfollow a user.",
        discussion: """
            The store must know your account, because the follow is recorded under your user id.

            EXAMPLE:
              storectl do follow 7
              storectl do follow 7 --off --json
            """)

    @Argument(help: "The id of the user to follow.")
    var user: String

    @Flag(help: "Unfollow the user.")
    var off = false

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let follow = FollowUser(user, isOn: !off)
        let projections = VideoProjections.standard
        let wanted: [any Projection] = [
            projections.users, projections.accounts, projections.following,
        ]
        try await options.decide(wanted) { try follow.decide($0) }
    }
}

/// The command `storectl do profile`.
struct DoProfileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile",
        abstract: "Edit your profile.",
        discussion: """
            Sets the given fields, clears the fields named by --clear, and keeps the rest.

            EXAMPLE:
              storectl do profile --about "I answer on Sundays."
              storectl do profile --first-name Ada --clear imageUrl --json
            """)

    @Option(help: "Your user name.")
    var username: String?

    @Option(help: "Your first name.")
    var firstName: String?

    @Option(help: "Your last name.")
    var lastName: String?

    @Option(help: ArgumentHelp("The URL of your picture.", valueName: "url"))
    var imageUrl: String?

    @Option(help: "Your email address.")
    var email: String?

    @Option(help: "A description of yourself.")
    var about: String?

    @Option(help: ArgumentHelp("A field to clear; may be repeated.", valueName: "field"))
    var clear: [ClearableArgument] = []

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let edit = EditProfile {
            if let username { $0.username = username }
            if let firstName { $0.firstName = firstName }
            if let lastName { $0.lastName = lastName }
            if let imageUrl { $0.imageURL = imageUrl }
            if let email { $0.email = email }
            if let about { $0.about = about }
            $0.cleared = clear.map(\.rawValue)
        }
        let projections = VideoProjections.standard
        try await options.decide([projections.users, projections.accounts]) {
            try edit.decide($0)
        }
    }
}

/// The command `storectl do visit`.
struct DoVisitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "visit",
        abstract: "Record that you started using the app, which Shelby counts as a visit.",
        discussion: """
            You must be signed in to Shelby. The 2012–2014 API counts visits; other systems \
            do not.

            EXAMPLE:
              storectl do visit
            """)

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let visit = StartVisit()
        try await options.decide([VideoProjections.standard.accounts]) { try visit.decide($0) }
    }
}

/// The video or the answer that is liked or commented on.
struct SubjectOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The video's key (provider:id) or any of its URLs, or an answer's id.",
            valueName: "video"))
    var id: String

    @Flag(help: "The argument is an answer's id; not needed if it has no colon and no slash.")
    var answer = false

    /// Whether `id` names a video: its key and all of its URLs contain a colon or a slash.
    var isVideo: Bool { !answer && id.contains { $0 == ":" || $0 == "/" } }

    /// Calls `body`, which treats the argument as a video.
    ///
    /// If there is no such video, the hint of the error also says how to name an answer.
    func asVideo(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as any CodedError
            where error is ShareVideo.Refusal || error.code == .invalidVideo
        {
            let hint = error.hint.map { "\($0); " } ?? ""
            throw ModelError(
                error.code, error.message, hint: hint + "add --answer if it is an answer's id")
        }
    }
}

/// The fields of a profile that can be cleared, by their names in `ProfileEdited`.
enum ClearableArgument: String, ExpressibleByArgument, CaseIterable {
    case firstName, lastName, imageUrl, email, about
}

extension VideoProjections {
    /// The projections that commands about answers read.
    fileprivate var ofAnswers: [any Projection] { [answers, questions, users, accounts] }
}
