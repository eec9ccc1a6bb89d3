public import TapedeckProjections

/// The projections of this domain, with their parameters.
public struct VideoProjections: Sendable {
    /// The videos that were shared, and which of them more than once.
    public var videos: VideoList
    /// The videos to be seen later.
    public var watchLater: WatchLater
    /// The answers that were handed in.
    public var answers: AnswerList
    /// The questions.
    public var questions: QuestionList
    /// The users.
    public var users: UserList
    /// Who follows each user.
    public var followers: FollowList
    /// Whom each user follows.
    public var following: FollowList
    /// The shows and their casts.
    public var shows: ShowCatalogue
    /// The episodes.
    public var schedule: EpisodeSchedule
    /// What whole listings say of the days of schedules.
    public var listings: ScheduleListings
    /// The videos that were handed in.
    public var submissions: SubmissionList
    /// What is said in the chats of videos.
    public var chat: VideoChat
    /// How often videos were opened.
    public var viewCounts: ViewCounts
    /// The user's accounts.
    public var accounts: AccountList
    /// Whether videos can be played.
    public var playability: Playability
    /// The addresses of videos' contents.
    public var extractions: ExtractionCache
    /// Where videos were left.
    public var playback: Playback
    /// What devices play.
    public var nowPlaying: NowPlaying
    /// What is to be played.
    public var queue: PlayQueue
    /// What lies on disks.
    public var downloads: Downloads
    /// Which videos stand on the lists of remotes.
    public var lists: VideoLists
    /// What the user has shared.
    public var shares: ShareList
    /// How much was played and shared.
    public var statistics: PlayStatistics
    /// The videos and what was said about them, by words.
    public var searchVideos: SearchIndex<SharedVideos>
    /// The videos that were handed in, by words.
    public var searchSubmissions: SearchIndex<SubmissionList>
    /// The shows by words.
    public var searchShows: SearchIndex<ShowCatalogue>
    /// The users, and the questions that no remote shows yet, by words.
    public var searchUsers: SearchIndex<UserList>
    /// The questions by words.
    public var searchQuestions: SearchIndex<QuestionList>
    /// What was said about answers, by words.
    public var searchAnswers: SearchIndex<AnswerList>

    /// Makes the projections.
    ///
    /// - Parameters:
    ///   - winner: which broadcast stands for a video.
    ///   - watchLaterRule: when a viewing takes a video off the list.
    ///   - viewWindow: how long a viewer of a video counts once.
    public init(
        winner: WinnerRule = .oldest, watchLaterRule: WatchLaterRule = .crossing,
        viewWindow: Duration = ViewCounts.windowDefault
    ) {
        videos = VideoList(winner: winner)
        watchLater = WatchLater(rule: watchLaterRule)
        answers = AnswerList()
        questions = QuestionList()
        users = UserList()
        followers = FollowList(.followers)
        following = FollowList(.following)
        shows = ShowCatalogue()
        schedule = EpisodeSchedule()
        listings = ScheduleListings()
        submissions = SubmissionList()
        chat = VideoChat()
        viewCounts = ViewCounts(window: viewWindow)
        accounts = AccountList()
        playability = Playability()
        extractions = ExtractionCache()
        playback = Playback()
        nowPlaying = NowPlaying()
        queue = PlayQueue()
        downloads = Downloads()
        lists = VideoLists()
        shares = ShareList()
        statistics = PlayStatistics()
        searchVideos = .videos(videos)
        searchSubmissions = .submissions(submissions)
        searchShows = .shows(shows)
        searchUsers = .users(users)
        searchQuestions = .questions(questions)
        searchAnswers = .answers(answers)
    }

    /// The defaults.
    public static let standard = VideoProjections()

    /// The system whose remotes tell of what a projection shows; nil where none does.
    static func system(of projection: any Projection) -> String? {
        switch projection {
        case is VideoList, is WatchLater, is VideoLists, is ShareList: Shelby.system
        case is AnswerList, is QuestionList, is UserList, is FollowList: Whale.system
        case is SubmissionList, is VideoChat: BirdTube.system
        case is EpisodeSchedule, is ScheduleListings, is ShowCatalogue: TVmaze.system
        default: nil
        }
    }

    /// Every projection, in the order in which reports list them.
    public var all: [any Projection] {
        [
            videos, watchLater, answers, questions, users, followers, following, shows, schedule,
            listings, submissions, chat, viewCounts, accounts, playability, extractions, playback,
            nowPlaying, queue, downloads, lists, shares, statistics, searchVideos,
            searchSubmissions, searchShows, searchUsers, searchQuestions, searchAnswers,
        ]
    }
}
