/// What Shelby's system of 2012 holds.
public struct ShelbyV2World: Hashable, Sendable {
    /// A user.
    public struct User: Hashable, Sendable {
        /// 24 hex digits.
        public var id: String
        /// The name that others see first.
        public var nickname: String
        /// The linked services: `twitter`, `facebook`, `tumblr`.
        public var services: [String]

        /// Makes a user.
        public init(id: String, nickname: String, services: [String] = ["twitter"]) {
            self.id = id
            self.nickname = nickname
            self.services = services
        }
    }

    /// A channel of a user.
    public struct Channel: Hashable, Sendable {
        /// 24 hex digits.
        public var id: String
        /// What it is called.
        public var name: String
        /// The user whose it is.
        public var owner: String
        /// Whether all may see it; apps use the first that is not.
        public var isPublic: Bool
        /// When it was made, in Unix milliseconds.
        public var createdAt: Int64

        /// Makes a channel.
        public init(
            id: String, name: String, owner: String, isPublic: Bool = false, createdAt: Int64 = 0
        ) {
            self.id = id
            self.name = name
            self.owner = owner
            self.isPublic = isPublic
            self.createdAt = createdAt
        }
    }

    /// A video that somebody shared into a channel.
    public struct Broadcast: Hashable, Sendable {
        /// 24 hex digits.
        public var id: String
        /// The channel that it stands in.
        public var channel: String
        /// When it was shared, in Unix milliseconds; shown in whole seconds.
        public var createdAt: Int64
        /// When anything of it changed, in Unix milliseconds.
        public var updatedAt: Int64
        /// Who has the video, such as `youtube` or `vimeo`.
        public var provider: String
        /// The provider's id of the video.
        public var providerID: String
        /// The video's title.
        public var title: String?
        /// What the sharer said.
        public var comment: String?
        /// The sharer's nickname.
        public var sharer: String?
        /// Where it was shared, such as `twitter`.
        public var origin: String?
        /// Whether the owner of the channel likes it.
        public var isLiked: Bool
        /// Whether the owner of the channel has seen it.
        public var isWatched: Bool
        /// Whether it is to be watched later; nil for rows older than that field, which lack it.
        public var isWatchLater: Bool?
        /// How often it was played.
        public var totalPlays: Int64

        /// Makes a broadcast.
        public init(
            id: String, channel: String, createdAt: Int64, provider: String = "youtube",
            providerID: String, title: String? = nil, comment: String? = nil,
            sharer: String? = nil, origin: String? = "twitter", isLiked: Bool = false,
            isWatched: Bool = false, isWatchLater: Bool? = nil, totalPlays: Int64 = 0
        ) {
            self.id = id
            self.channel = channel
            self.createdAt = createdAt
            updatedAt = createdAt
            self.provider = provider
            self.providerID = providerID
            self.title = title
            self.comment = comment
            self.sharer = sharer
            self.origin = origin
            self.isLiked = isLiked
            self.isWatched = isWatched
            self.isWatchLater = isWatchLater
            self.totalPlays = totalPlays
        }
    }

    /// The users.
    public var users: [User]
    /// The channels, in the order in which they are listed.
    public var channels: [Channel]
    /// The broadcasts, in any order.
    public var broadcasts: [Broadcast]
    /// OAuth access tokens, and the ids of those whose they are.
    public var tokens: [String: String]

    /// Makes a world by hand.
    public init(
        users: [User], channels: [Channel], broadcasts: [Broadcast], tokens: [String: String]
    ) {
        self.users = users
        self.channels = channels
        self.broadcasts = broadcasts
        self.tokens = tokens
    }

    func user(_ id: String) -> User? { users.first { $0.id == id } }
}
