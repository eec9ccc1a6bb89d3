/// The data of the 2012 Shelby system.
public struct ShelbyV2World: Hashable, Sendable {
    /// A user.
    public struct User: Hashable, Sendable {
        /// The id: 24 hex digits.
        public var id: String
        /// The user's public name.
        public var nickname: String
        /// The linked services: `twitter`, `facebook`, `tumblr`.
        public var services: [String]

        /// Creates a user.
        public init(id: String, nickname: String, services: [String] = ["twitter"]) {
            self.id = id
            self.nickname = nickname
            self.services = services
        }
    }

    /// A user's channel.
    public struct Channel: Hashable, Sendable {
        /// The id: 24 hex digits.
        public var id: String
        /// The channel's name.
        public var name: String
        /// The user who owns the channel.
        public var owner: String
        /// Whether all users can see the channel; apps use the first channel that is not public.
        public var isPublic: Bool
        /// The time of creation, in milliseconds since 1970.
        public var createdAt: Int64

        /// Creates a channel.
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

    /// A video that a user shared to a channel.
    public struct Broadcast: Hashable, Sendable {
        /// The id: 24 hex digits.
        public var id: String
        /// The channel of the broadcast.
        public var channel: String
        /// The time at which the video was shared, in milliseconds since 1970; the API shows whole
        /// seconds.
        public var createdAt: Int64
        /// The time of the last change, in milliseconds since 1970.
        public var updatedAt: Int64
        /// The provider, such as `youtube` or `vimeo`.
        public var provider: String
        /// The provider's id for the video.
        public var providerID: String
        /// The video's title.
        public var title: String?
        /// The sharer's comment.
        public var comment: String?
        /// The sharer's nickname.
        public var sharer: String?
        /// The network on which the video was shared, such as `twitter`.
        public var origin: String?
        /// Whether the owner of the channel likes the broadcast.
        public var isLiked: Bool
        /// Whether the owner of the channel has watched the broadcast.
        public var isWatched: Bool
        /// Whether the broadcast is marked for watching later; nil for rows that are older than
        /// this field.
        public var isWatchLater: Bool?
        /// The number of plays.
        public var totalPlays: Int64

        /// Creates a broadcast.
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
    /// The channels, in list order.
    public var channels: [Channel]
    /// The broadcasts, in any order.
    public var broadcasts: [Broadcast]
    /// The user id for each OAuth access token.
    public var tokens: [String: String]
    /// The secret for each OAuth access token; empty if it is missing.
    public var secrets: [String: String]

    /// Creates a world from its rows.
    public init(
        users: [User], channels: [Channel], broadcasts: [Broadcast], tokens: [String: String],
        secrets: [String: String] = [:]
    ) {
        self.users = users
        self.channels = channels
        self.broadcasts = broadcasts
        self.tokens = tokens
        self.secrets = secrets
    }

    func user(_ id: String) -> User? { users.first { $0.id == id } }
}
