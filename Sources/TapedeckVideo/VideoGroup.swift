/// A list of videos that apps show, identified by the name that `storectl query list` accepts.
public enum VideoGroup: Hashable, Sendable {
    /// `timeline`: all shared videos, most recently shared first.
    case timeline
    /// `favourites`: the videos that the user likes, in timeline order.
    case favourites
    /// `watch-later`: the videos on the watch-later list, in timeline order.
    case watchLater
    /// `likes`: the videos that the user likes, most recently liked first.
    case likes
    /// `popular`: the submitted videos that a remote lists, most viewed first.
    case popular
    /// `new`: the submitted videos that a remote lists, newest first.
    case new
    /// A remote's list by name, most recently added first: `stream`, `personal-roll`,
    /// `dashboard/ID` for a channel, or `roll/ID`.
    case listed(String)

    /// The name of the list of videos that others share with the account's user.
    package static let stream = "stream"
    /// The name of the list of videos that the account's user shares and likes.
    package static let personalRoll = "personal-roll"
    /// The prefixes of list names that contain an id.
    private static let prefixes = ["dashboard/", "roll/"]

    /// Returns the name of a channel's list.
    package static func dashboard(_ id: String) -> String { "dashboard/\(id)" }

    /// Returns the name of a roll's list.
    package static func roll(_ id: String) -> String { "roll/\(id)" }

    /// The groups without an id.
    public static let named: [VideoGroup] = [
        .timeline, .favourites, .watchLater, .likes, .listed(stream), .listed(personalRoll),
        .popular, .new,
    ]

    /// Whether the group is a list whose name contains an id: `dashboard/ID` or `roll/ID`.
    var hasID: Bool {
        VideoGroup.prefixes.contains { name.hasPrefix($0) }
    }

    /// Creates the group with the given name; nil if there is none.
    public init?(_ name: String) {
        if let group = VideoGroup.named.first(where: { $0.name == name }) {
            self = group
            return
        }
        guard let prefix = VideoGroup.prefixes.first(where: { name.hasPrefix($0) }),
            (try? FieldChecks.id(String(name.dropFirst(prefix.count)), "list")) != nil
        else { return nil }
        self = .listed(name)
    }

    /// The name of the group.
    public var name: String {
        switch self {
        case .timeline: "timeline"
        case .favourites: "favourites"
        case .watchLater: "watch-later"
        case .likes: "likes"
        case .popular: "popular"
        case .new: "new"
        case .listed(let name): name
        }
    }
}
