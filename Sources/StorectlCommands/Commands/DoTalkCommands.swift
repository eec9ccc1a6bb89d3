internal import ArgumentParser
internal import Tapedeck
internal import TapedeckConnectors

/// `storectl do share`.
struct DoShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "Share a video with others.",
        discussion: """
            Each destination is an intent of its own. Without --text it says what the app of 2012 proposed. \
            A text for twitter has \(ShareVideo.twitterCharactersMax) characters at the most.

            EXAMPLE:
              storectl do share youtube:aqz-KE-bpKQ --to twitter --to facebook
              storectl do share vimeo:1084537 --to email --recipient ada@example.org --json
            """)

    @Argument(help: "The video: its key, provider:id, or any URL of it.")
    var video: String

    @Option(
        help: ArgumentHelp(
            "Where: twitter, facebook, tumblr or email; may be repeated.",
            valueName: "destination"),
        completion: .list(["twitter", "facebook", "tumblr", "email"]))
    var to: [String]

    @Option(help: "What is said.")
    var text: String?

    @Option(
        help: ArgumentHelp("Who gets the e-mail; may be repeated.", valueName: "address"))
    var recipient: [String] = []

    @OptionGroup var options: StoreOptions

    func validate() throws {
        guard recipient.isEmpty || to.contains("email") else {
            throw ValidationError("--recipient is for --to email")
        }
    }

    func run() async throws {
        let share = try ShareVideo(video, to: to, text: text, recipients: recipient)
        try await options.decide([VideoProjections.standard.videos]) { try share.decide($0) }
    }
}

/// `storectl do submit`.
struct DoSubmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Hand a video of YouTube in.",
        discussion: """
            Somebody has to be signed in. What is listed or waits already records nothing. The page on which \
            the video is watched tells its title and its picture.

            EXAMPLE:
              storectl do submit https://youtu.be/aqz-KE-bpKQ --title "Big Buck Bunny"
              storectl do submit youtube:aqz-KE-bpKQ --page watch.html
            """)

    @Argument(help: "The video: its key, provider:id, or any URL of it.")
    var video: String

    @Option(help: "Its title.")
    var title: String?

    @Option(help: ArgumentHelp("Where its still picture is.", valueName: "url"))
    var thumbnail: String?

    @Option(
        help: ArgumentHelp(
            "The HTML of its page, for what is not told; - is stdin.", valueName: "file"))
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

    /// What the page tells of the video.
    private func read(_ file: String) throws -> YouTubePage {
        let page = try YouTubePage(
            html: try FileInput(file).readAll(bytesMax: YouTubePage.bytesMax))
        guard try page.video == VideoKey(video) else {
            throw CommandError(
                .usage, "\(file) is the page of \(page.video)",
                hint: "name that video, or give the page of \(video.prefix(80))")
        }
        return page
    }
}

/// `storectl do chat`.
struct DoChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Say something in the chat of a video.",
        discussion: """
            Somebody has to be signed in. A file has to be at its address already.

            EXAMPLE:
              storectl do chat youtube:aqz-KE-bpKQ "The rabbit wins."
              storectl do chat youtube:aqz-KE-bpKQ --file https://example.org/a.png --json
            """)

    @Argument(help: "The video: its key, provider:id, or any URL of it.")
    var video: String

    @Argument(help: "What is said.")
    var text: String?

    @Option(help: ArgumentHelp("In place of a text, where a file is.", valueName: "url"))
    var file: String?

    @Option(help: "The file's name.")
    var name: String?

    @Option(help: "The file's media type.")
    var type: String?

    @Option(help: "How large the file is.")
    var bytes: UInt64?

    @OptionGroup var options: StoreOptions

    func validate() throws {
        guard (text == nil) != (file == nil) else {
            throw ValidationError("a TEXT or --file is missing, or both are given")
        }
        guard file != nil || name == nil && type == nil && bytes == nil else {
            throw ValidationError("--name, --type and --bytes are for --file")
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

/// `storectl do ask`.
struct DoAskCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ask",
        abstract: "Ask somebody something.",
        discussion: """
            A question that waits to be asked already records nothing.

            EXAMPLE:
              storectl do ask 7 "Why is the sky blue?"
            """)

    @Argument(help: "The id of the user who is asked.")
    var user: String

    @Argument(help: "What is asked.")
    var text: String

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let ask = try AskQuestion(user, text: text)
        try await options.decide([VideoProjections.standard.users]) { try ask.decide($0) }
    }
}

/// `storectl do like`.
struct DoLikeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "like",
        abstract: "Like an answer, or no longer.",
        discussion: """
            EXAMPLE:
              storectl do like 4711
              storectl do like 4711 --off --json
            """)

    @Argument(help: "The answer's id.")
    var answer: String

    @Flag(help: "No longer.")
    var off = false

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let like = LikeAnswer(answer, isOn: !off)
        try await options.decide(VideoProjections.standard.ofAnswers) { try like.decide($0) }
    }
}

/// `storectl do comment`.
struct DoCommentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "comment",
        abstract: "Say something about an answer.",
        discussion: """
            EXAMPLE:
              storectl do comment 4711 "Well said."
            """)

    @Argument(help: "The answer's id.")
    var answer: String

    @Argument(help: "What is said.")
    var text: String

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let comment = try CommentOnAnswer(answer, text: text)
        try await options.decide(VideoProjections.standard.ofAnswers) { try comment.decide($0) }
    }
}

/// `storectl do follow`.
struct DoFollowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Follow somebody, or no longer.",
        discussion: """
            It is the user of the account who follows, so that has to be known.

            EXAMPLE:
              storectl do follow 7
              storectl do follow 7 --off --json
            """)

    @Argument(help: "The id of the user who is followed.")
    var user: String

    @Flag(help: "No longer.")
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

/// `storectl do profile`.
struct DoProfileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile",
        abstract: "Change the profile of the user of the account.",
        discussion: """
            What is given is changed, what is named by --clear is taken away, and the rest stays.

            EXAMPLE:
              storectl do profile --about "I answer on Sundays."
              storectl do profile --first-name Ada --clear imageUrl --json
            """)

    @Option(help: "What the user is called.")
    var username: String?

    @Option(help: "The first name.")
    var firstName: String?

    @Option(help: "The last name.")
    var lastName: String?

    @Option(help: ArgumentHelp("Where the picture is.", valueName: "url"))
    var imageUrl: String?

    @Option(help: "The address for e-mail.")
    var email: String?

    @Option(help: "What the user says about themselves.")
    var about: String?

    @Option(help: ArgumentHelp("What to take away; may be repeated.", valueName: "field"))
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

/// The fields of a profile that can be taken away, by their names in `ProfileEdited`.
enum ClearableArgument: String, ExpressibleByArgument, CaseIterable {
    case firstName, lastName, imageUrl, email, about
}

extension VideoProjections {
    /// Those that tell of an answer, and of who likes it.
    fileprivate var ofAnswers: [any Projection] { [answers, questions, users, accounts] }
}
