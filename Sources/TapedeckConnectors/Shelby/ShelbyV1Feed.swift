internal import TapedeckSync
internal import TapedeckVideo

/// A feed of Shelby's API v1.
enum ShelbyV1Feed: Hashable {
    /// The videos that others share with the user.
    case stream
    /// The user's own roll, which contains the user's shares and likes.
    case personalRoll
    /// The rolls that the user follows.
    case following
    /// The dashboard of any user or channel, by the user's id.
    case dashboard(String)
    /// A roll, by its id.
    case roll(String)

    /// The maximum number of lists that are read in addition to the user's own; each list needs at
    /// least one request per pass.
    static let listsMax = 50

    /// Creates the feed with the given name; nil if no feed has this name.
    init?(_ name: String) {
        switch name {
        case ShelbyV1Feed.stream.name: self = .stream
        case ShelbyV1Feed.personalRoll.name: self = .personalRoll
        default: self.init(list: name)
        }
    }

    /// Parses `following`, `dashboard/ID` or `roll/ID`.
    private init?(list name: String) {
        let parts = name.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2, let id = ShelbyV1ID(parts[1].lowercased())?.text else {
            guard name == ShelbyV1Feed.following.name else { return nil }
            self = .following
            return
        }
        switch parts[0] {
        case "dashboard": self = .dashboard(id)
        case "roll": self = .roll(id)
        default: return nil
        }
    }

    /// Parses the names of lists, and removes duplicates.
    ///
    /// Throws `SyncError` with `.usage` and a hint that lists the valid forms.
    static func lists(_ names: [String]) throws(SyncError) -> [String] {
        var lists: [String] = []
        for name in names {
            guard let feed = ShelbyV1Feed(list: name) else {
                throw SyncError(
                    .usage, "\"\(name.prefix(40))\" is not a list of Shelby",
                    hint: "use following, roll/ID or dashboard/ID; an id has 24"
                        + " hexadecimal digits")
            }
            if !lists.contains(feed.name) { lists.append(feed.name) }
        }
        guard lists.count <= listsMax else {
            throw SyncError(
                .usage, "too many lists: \(lists.count)",
                hint: "a remote can have at most \(listsMax); use --unlist to stop reading one")
        }
        return lists
    }

    /// The name of the feed.
    var name: String {
        switch self {
        case .stream: "dashboard"
        case .personalRoll: "likes"
        case .following: "following"
        case .dashboard(let id): VideoGroup.dashboard(id)
        case .roll(let id): VideoGroup.roll(id)
        }
    }

    /// The list on which the store shows the feed's videos; nil if the feed contains no videos.
    var group: String? {
        switch self {
        case .stream: VideoGroup.stream
        case .personalRoll: VideoGroup.personalRoll
        case .following: nil
        case .dashboard, .roll: name
        }
    }

    /// Whether the user chose to read the feed.
    var isChosen: Bool {
        switch self {
        case .stream, .personalRoll: false
        case .following, .dashboard, .roll: true
        }
    }

    /// Whether the feed's rows are entries that contain frames, rather than frames themselves.
    var hasEntries: Bool {
        switch self {
        case .stream, .dashboard: true
        case .personalRoll, .following, .roll: false
        }
    }
}
