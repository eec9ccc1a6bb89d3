public import TapedeckProjections

/// All video projections, with their parameters.
public struct VideoProjections: Sendable {
    /// The shared videos and their duplicates.
    public var videos: VideoList
    /// The videos to watch later.
    public var watchLater: WatchLater
    /// The submitted answers.
    public var answers: AnswerList
    /// The questions.
    public var questions: QuestionList
    /// The users.
    public var users: UserList
    /// The followers of each user.
    public var followers: FollowList
    /// The users that each user follows.
    public var following: FollowList
    /// The shows and their casts.
    public var shows: ShowCatalogue
    /// The episodes.
    public var schedule: EpisodeSchedule
    /// The daily schedule listings.
    public var listings: ScheduleListings
    /// The submitted videos.
    public var submissions: SubmissionList
    /// The chats of videos.
    public var chat: VideoChat
    /// The view counts of videos.
    public var viewCounts: ViewCounts
    /// The user's accounts.
    public var accounts: AccountList
    /// The playability of videos.
    public var playability: Playability
    /// The extracted addresses of video streams.
    public var extractions: ExtractionCache
    /// The playback positions of videos.
    public var playback: Playback
    /// The videos that devices are playing.
    public var nowPlaying: NowPlaying
    /// The play queues.
    public var queue: PlayQueue
    /// The files downloaded by devices.
    public var downloads: Downloads
    /// The videos on the lists that remotes keep.
    public var lists: VideoLists
    /// The lists that remotes keep.
    public var knownLists: KnownLists
    /// The user's shares.
    public var shares: ShareList
    /// The user's address book.
    public var contacts: ContactList
    /// The playback and share statistics.
    public var statistics: PlayStatistics
    /// The search index of videos and the comments on them.
    public var searchVideos: SearchIndex<SharedVideos>
    /// The search index of submitted videos.
    public var searchSubmissions: SearchIndex<SubmissionList>
    /// The search index of shows.
    public var searchShows: SearchIndex<ShowCatalogue>
    /// The search index of users, and of questions that no remote shows yet.
    public var searchUsers: SearchIndex<UserList>
    /// The search index of questions.
    public var searchQuestions: SearchIndex<QuestionList>
    /// The search index of comments on answers.
    public var searchAnswers: SearchIndex<AnswerList>

    /// Creates the projections.
    ///
    /// - Parameters:
    ///   - winner: The rule for choosing the broadcast that represents a video.
    ///   - watchLaterRule: The rule for removing viewed videos from the watch-later list.
    ///   - viewWindow: The time during which a viewer of a video is counted only once.
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
        knownLists = KnownLists()
        shares = ShareList()
        contacts = ContactList()
        statistics = PlayStatistics()
        searchVideos = .videos(videos)
        searchSubmissions = .submissions(submissions)
        searchShows = .shows(shows)
        searchUsers = .users(users)
        searchQuestions = .questions(questions)
        searchAnswers = .answers(answers)
    }

    /// The projections with default parameters.
    public static let standard = VideoProjections()

    /// Returns the system whose remotes supply the data of a projection; nil if there is none.
    static func system(of projection: any Projection) -> String? {
        switch projection {
        case is VideoList, is WatchLater, is VideoLists, is KnownLists, is ShareList,
            is ContactList, is Playability:
            Shelby.system
        case is AnswerList, is QuestionList, is UserList, is FollowList: Whale.system
        case is SubmissionList, is VideoChat: BirdTube.system
        case is EpisodeSchedule, is ScheduleListings, is ShowCatalogue: TVmaze.system
        default: nil
        }
    }

    /// All projections, in the order in which reports list them.
    public var all: [any Projection] {
        [
            videos, watchLater, answers, questions, users, followers, following, shows, schedule,
            listings, submissions, chat, viewCounts, accounts, playability, extractions, playback,
            nowPlaying, queue, downloads, lists, knownLists, shares, contacts, statistics,
            searchVideos, searchSubmissions, searchShows, searchUsers, searchQuestions,
            searchAnswers,
        ]
    }
}
