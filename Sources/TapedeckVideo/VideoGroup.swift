/// A list of videos as apps show them, by the name that `storectl query list` takes.
public enum VideoGroup: Hashable, Sendable {
    /// `timeline`: all that were shared, the one shared last first.
    case timeline
    /// `favourites`: those that the user likes, in the order of the timeline.
    case favourites
    /// `watch-later`: those that wait to be seen, in the order of the timeline.
    case watchLater
    /// `likes`: those that the user likes, the one liked last first.
    case likes
    /// `popular`: those that were handed in, the one seen most first.
    case popular
    /// `new`: those that were handed in, the last first.
    case new
    /// A list that a remote keeps, by its name, what came onto it last first: `stream`, `personal-roll`,
    /// `dashboard/ID` of a channel, or `roll/ID`.
    case listed(String)

    /// The list of what others share with the account's user.
    package static let stream = "stream"
    /// The list of what the user shares and likes.
    package static let personalRoll = "personal-roll"
    /// What stands in front of the ids of other lists.
    private static let prefixes = ["dashboard/", "roll/"]

    /// The list of a roll.
    package static func roll(_ id: String) -> String { "roll/\(id)" }

    /// The groups that have no id.
    public static let named: [VideoGroup] = [
        .timeline, .favourites, .watchLater, .likes, .listed(stream), .listed(personalRoll),
        .popular, .new,
    ]

    /// The group of a name; nil where there is none.
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

    /// Its name.
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
