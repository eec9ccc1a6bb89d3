import Tapedeck
import TapedeckModel
import TapedeckProjections
import TapedeckVideo
import Testing

/// A live list together with the query that returns the same entries.
final class FollowedList {
    let name: String
    /// Applies the list's changes and compares the result with the query.
    private let look: (TapedeckStore, String) throws -> Void

    init<Entry: Hashable & Sendable>(
        _ name: String, _ loop: LiveLoop<Entry>,
        _ read: @escaping (VideoQueries<Views>, UTCTime) throws -> (entries: [Entry], hasMore: Bool)
    ) {
        self.name = name
        var (list, hasMore): ([Entry], Bool) = ([], false)
        look = { store, note in
            if let update = try loop.look() {
                update.apply(to: &list)
                hasMore = update.hasMore
            }
            let now = UTCTime(milliseconds: Int64(store.log.now()))
            let found = try store.projections.read { try read(VideoQueries($0), now) }
            try #require(list == found.entries, "\(name), \(note)")
            #expect(hasMore == found.hasMore, "\(name), \(note)")
        }
    }

    func check(_ store: TapedeckStore, _ note: String) throws { try look(store, note) }
}

/// Every live list, named as in `storectl query` and `storectl watch`.
enum LiveLists: String, CaseIterable {
    case accounts
    case answers
    case chat
    case comments
    case downloads
    case duplicates
    case endingSoon = "ending-soon"
    case extractions
    case follows
    case likers
    case list
    case lists
    case nowPlaying = "now-playing"
    case onNow = "on-now"
    case playability
    case playback
    case questions
    case queue
    case recipients
    case schedule
    case search
    case shares
    case submissions
    case users
    case videos
    case watchLater = "watch-later"

    /// Queries that cannot be watched, because they return a single object, totals or a comparison.
    static let others: Set<String> = [
        "extraction-plan", "news", "schedule-changes", "share-text", "show", "statistics", "user",
        "video",
    ]

    /// The options that choose a page or a time in any query; live lists do not have these options.
    static let pageOptions: Set<String> = ["--cursor", "--now", "--as-of"]

    /// All other query options that live lists do not have.
    ///
    /// These options name videos, choose later pages, show hidden chat messages or set budgets.
    static let otherOptions: [LiveLists: Set<String>] = [
        .chat: ["--before", "--blocked", "--guest"],
        .downloads: ["VIDEO...", "--budget", "--current"], .extractions: ["VIDEO..."],
        .playability: ["VIDEO..."], .playback: ["VIDEO..."], .queue: ["VIDEO..."],
    ]

    private static func isShown(_ question: QuestionEntry) -> Bool {
        ![.asking, .refused].contains(question.state)
    }

    /// Follows every list; `limit` applies to lists with pages.
    static func follow(_ store: TapedeckStore, limit: Int) throws -> [FollowedList] {
        try allCases.flatMap { try $0.followed(store, limit) }
    }

    private func followed(_ store: TapedeckStore, _ limit: Int) throws -> [FollowedList] {
        switch self {
        case .accounts:
            return [
                rows("accounts", store, .accounts(limit: limit)) { queries, _ in
                    let page = try queries.accounts(limit: limit)
                    return (page.accounts, page.next != nil)
                }
            ]
        case .answers:
            return [
                rows("answers", store, .answers(limit: limit)) { queries, _ in
                    front(try queries.answers(limit: most).answers, limit)
                }
            ]
        case .chat:
            return [
                rows("chat", store, try .chat(video: "youtube:v1", limit: limit)) { queries, _ in
                    let all = try queries.chat(
                        video: "youtube:v1", isGuestAllowed: true, limit: most)
                    let shown = all.messages.filter { $0.state == .shown }
                    let waiting = all.messages.filter { $0.state != .shown }
                    return front(waiting + shown.reversed(), limit)
                }
            ]
        case .comments:
            return [
                rows("of answer", store, try .comments(answer: "1", limit: limit)) { queries, _ in
                    front(try queries.comments(answer: "1", limit: most).comments, limit)
                },
                rows("of video", store, try .comments(video: "youtube:v1", limit: limit)) {
                    queries, _ in
                    front(try queries.comments(video: "youtube:v1", limit: most).comments, limit)
                },
            ]
        case .downloads:
            return try ["default", "tablet"].map { device in
                rows(device, store, try .downloads(device: device, limit: limit)) { queries, _ in
                    let page = try queries.downloads(device: device, limit: limit)
                    return (page.videos, page.next != nil)
                }
            }
        case .duplicates:
            return [
                rows("duplicates", store, .duplicates(limit: limit)) { queries, _ in
                    let page = try queries.duplicates(limit: limit)
                    return (page.videos, page.next != nil)
                }
            ]
        case .endingSoon:
            return try scopes().map { scope in
                arranged(
                    "ending soon \(scope)", store,
                    try .endingSoon(scope: scope, windowSeconds: 2_400)
                ) { queries, now in
                    let found = try queries.endingSoon(at: now, scope: scope, windowSeconds: 2_400)
                    return (found.episodes, false)
                }
            }
        case .extractions:
            return [
                rows("extractions", store, try .failedExtractions(limit: limit)) { queries, now in
                    let page = try queries.failedExtractions(at: now, limit: limit)
                    return (page.videos, page.next != nil)
                }
            ]
        case .follows:
            return [
                rows("followers", store, try .follows(of: "1", limit: limit)) { queries, _ in
                    front(try queries.follows(of: "1", limit: most).users, limit)
                }
            ]
        case .likers:
            return try ["0", "1"].map { answer in
                arranged("of \(answer)", store, try .likers(of: answer, limit: limit)) {
                    queries, _ in
                    front(try queries.likers(of: answer, limit: most).likers, limit)
                }
            }
        case .list:
            let whole = VideoGroup.named.map { group in
                rows("\(group)", store, .group(group, limit: limit)) {
                    let page = try $0.videos(in: group, at: $1, limit: limit)
                    return (page.videos, page.next != nil)
                }
            }
            return try whole + VideoGroup.named.flatMap { try parts(of: $0, store, limit) }
        case .nowPlaying:
            // The estimated position is computed from the reported position, so a new estimate is
            // not a change.
            func said(_ page: NowPlayingPage) -> ([NowPlayingEntry], Bool) {
                let devices = page.devices.map { device in
                    var device = device
                    device.estimatedSeconds = device.positionSeconds
                    return device
                }
                return (devices, page.next != nil)
            }
            return [
                rows("devices", store, .nowPlaying(limit: limit)) { queries, now in
                    said(try queries.nowPlaying(at: now, limit: limit))
                },
                rows("of video", store, try .nowPlaying(video: "youtube:v1", limit: limit)) {
                    queries, now in
                    said(try queries.nowPlaying(video: "youtube:v1", at: now, limit: limit))
                },
            ]
        case .onNow:
            return try scopes().map { scope in
                arranged("on now \(scope)", store, .onNow(scope: scope)) { queries, now in
                    (try queries.onNow(at: now, scope: scope).episodes, false)
                }
            }
        case .playability:
            return PlayabilityFilter.allCases.map { filter in
                arranged("\(filter)", store, .playability(filter, limit: limit)) { queries, now in
                    let page = try queries.playability(filter, at: now, limit: limit)
                    return (page.videos, page.next != nil)
                }
            }
        case .playback:
            return [
                rows("in progress", store, .inProgress(limit: limit)) { queries, _ in
                    let page = try queries.inProgress(limit: limit)
                    return (page.videos, page.next != nil)
                }
            ]
        case .questions:
            return [
                rows("questions", store, .questions(limit: limit)) { queries, _ in
                    front(try queries.questions(limit: most).questions, limit)
                },
                rows("to 1", store, .questions(to: "1", isPending: false, limit: limit)) {
                    queries, _ in
                    let found = try queries.questions(to: "1", isPending: false, limit: most)
                    return front(found.questions.filter(LiveLists.isShown), limit)
                },
            ]
                + [true, false].map { isPending in
                    arranged("own", store, .ownQuestions(isPending: isPending, limit: limit)) {
                        queries, _ in
                        guard try queries.ownUser() != nil else { return ([], false) }
                        let found = try queries.ownQuestions(isPending: isPending, limit: most)
                        return front(found.questions.filter(LiveLists.isShown), limit)
                    }
                }
        case .queue:
            return [
                rows("queue", store, try .queue(limit: limit)) { queries, _ in
                    let page = try queries.queue(limit: limit)
                    return (page.videos, page.next != nil)
                }
            ]
        case .recipients:
            return ["", "a"].map { prefix in
                arranged("\"\(prefix)\"", store, .recipients(prefix: prefix, limit: limit)) {
                    queries, _ in
                    let page = try queries.recipients(prefix: prefix, limit: limit)
                    return (page.recipients, page.next != nil)
                }
            }
        case .schedule:
            let now = CalendarDay(milliseconds: Int64(store.log.now()), offsetSeconds: 0)
            func dated(_ week: ScheduleWeek) -> ([DatedEpisode], Bool) {
                let days = week.days.flatMap { day in
                    day.episodes.map { DatedEpisode(date: day.date, episode: $0) }
                }
                return (days, false)
            }
            return try scopes().flatMap { scope in
                [
                    arranged("this week \(scope)", store, try .schedule(scope: scope)) {
                        dated(try $0.schedule(at: $1, scope: scope))
                    },
                    arranged(
                        "week of \(now) \(scope)", store,
                        try .schedule(week: now.description, scope: scope)
                    ) { queries, _ in
                        dated(try queries.schedule(week: now.description, scope: scope))
                    },
                ]
            }
        case .search:
            // The words occur in all kinds of generated text, and many texts share the prefixes.
            return try [("t", nil), ("s t", .videos), ("u", .users), ("1", nil)].map {
                (words: String, scope: SearchScope?) in
                FollowedList(
                    "search \(words)",
                    LiveLoop(
                        store.projections, try LiveSearch(words, in: scope, limit: limit))
                ) { queries, _ in
                    let page = try queries.search(words, in: scope, limit: limit)
                    return (page.hits, page.next != nil)
                }
            }
        case .lists:
            return [
                rows("lists", store, .lists(limit: limit)) { queries, _ in
                    let page = try queries.lists(limit: limit)
                    return (page.lists, page.next != nil)
                }
            ]
        case .shares:
            return [
                rows("shares", store, .shares(limit: limit)) { queries, _ in
                    let page = try queries.shares(limit: limit)
                    return (page.shares, page.next != nil)
                }
            ]
        case .submissions:
            return [SubmissionOrder.popular, .new].map { order in
                rows("\(order)", store, .submissions(order: order, limit: limit)) { queries, _ in
                    let page = try queries.submissions(order: order, limit: limit)
                    return (page.videos, page.next != nil)
                }
            }
        case .users:
            return [
                rows("users", store, .users(limit: limit)) { queries, _ in
                    front(try queries.users(limit: most).users, limit)
                }
            ]
        case .videos:
            return [
                rows("videos", store, .videos(limit: limit)) { queries, _ in
                    let page = try queries.videos(limit: limit)
                    return (page.videos, page.next != nil)
                }
            ]
        case .watchLater:
            return [
                rows("watch later", store, .watchLater(limit: limit)) { queries, _ in
                    let page = try queries.watchLater(limit: limit)
                    return (page.videos, page.next != nil)
                }
            ]
        }
    }

    /// Returns two parts of a group: one from index 2, limited to the five newest broadcasts, and
    /// one from index 1 with only playable videos.
    private func parts(
        of group: VideoGroup, _ store: TapedeckStore, _ limit: Int
    ) throws -> [FollowedList] {
        let choices: [(from: Int, newest: Int?, playableOnly: Bool)] = [
            (2, 5, false), (1, nil, true),
        ]
        return try choices.map { choice in
            let list: ArrangedList<GroupEntry, GroupEntry> = try .part(
                of: group, from: choice.from, newest: choice.newest,
                playableOnly: choice.playableOnly, limit: limit)
            return arranged("\(group) \(choice)", store, list) {
                let page = try $0.videos(
                    in: group, at: $1, from: choice.from, newest: choice.newest,
                    playableOnly: choice.playableOnly, limit: limit)
                return (page.videos, page.next != nil)
            }
        }
    }

    private var most: Int { QueryLimits.pageCountMax }

    private func scopes() throws -> [ScheduleScope] {
        [
            try ScheduleScope(), try ScheduleScope(includeWeb: true), try ScheduleScope(web: true),
        ]
    }

    private typealias Read<Entry> = (VideoQueries<Views>, UTCTime) throws -> (
        entries: [Entry], hasMore: Bool
    )

    private func rows<Entry>(
        _ name: String, _ store: TapedeckStore, _ list: LiveList<Entry>,
        _ read: @escaping Read<Entry>
    ) -> FollowedList {
        FollowedList(name, LiveLoop(store.projections, list), read)
    }

    private func arranged<Row, Entry>(
        _ name: String, _ store: TapedeckStore, _ list: ArrangedList<Row, Entry>,
        _ read: @escaping Read<Entry>
    ) -> FollowedList {
        FollowedList(name, LiveLoop(store.projections, list), read)
    }

    /// Returns the first entries, and whether there are more.
    private func front<Entry>(_ all: [Entry], _ limit: Int) -> ([Entry], Bool) {
        (Array(all.prefix(limit)), all.count > limit)
    }
}
