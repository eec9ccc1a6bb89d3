/// The data of the 2012–2014 Shelby system, with every row stored by its id.
public struct ShelbyV1World: Hashable, Sendable {
    /// The users.
    public var users: [String: User] = [:]
    /// The rolls.
    public var rolls: [String: Roll] = [:]
    /// The videos, one per provider and id.
    public var videos: [String: Video] = [:]
    /// The conversations.
    public var conversations: [String: Conversation] = [:]
    /// The frames, including frames that have been removed from their roll.
    public var frames: [String: Frame] = [:]
    /// The entries of all dashboards.
    public var entries: [String: Entry] = [:]
    /// The user id for each authentication token.
    public var tokens: [String: String] = [:]
    /// The rolls suggested to users who look for new rolls.
    public var featured: [String] = []
    var lastNumber = 0

    /// Creates an empty world.
    public init() {}

    /// Returns a new id, which begins with the time.
    public mutating func makeID(at milliseconds: Int64) -> String {
        lastNumber += 1
        return MongoID.make(at: milliseconds, number: lastNumber)
    }
}

extension ShelbyV1World {
    /// A user.
    public struct User: Hashable, Sendable {
        /// The id: 24 hex digits.
        public var id: String
        /// The user's public name.
        public var nickname: String
        /// The email address, which is used to log in.
        public var email: String
        /// The password.
        public var password: String
        /// The roll of videos that the user shares and likes.
        public var publicRoll: String
        /// The user's ids at the services that are linked to the account; they can also be used to
        /// log in.
        public var services: [String: String]
        /// The email addresses that the user has shared videos with.
        public var addresses: [String] = []
        /// The number of visits for each platform.
        public var visits: [String: Int] = [:]

        /// Creates a user.
        public init(
            id: String, nickname: String, email: String, password: String, publicRoll: String,
            services: [String: String] = [:]
        ) {
            self.id = id
            self.nickname = nickname
            self.email = email
            self.password = password
            self.publicRoll = publicRoll
            self.services = services
        }
    }

    /// A list of frames.
    public struct Roll: Hashable, Sendable {
        /// The id: 24 hex digits.
        public var id: String
        /// The title.
        public var title: String
        /// The user who owns the roll.
        public var creator: String
        /// The type: 30 for a user's public roll, 31 for a global roll, 50 for a private roll.
        public var type: Int
        /// Whether all users can see the roll.
        public var isPublic: Bool
        /// Whether the roll's followers can add frames.
        public var isCollaborative: Bool
        /// The users who follow the roll.
        public var followers: Set<String>

        /// Creates a roll.
        public init(
            id: String, title: String, creator: String, type: Int = 30, isPublic: Bool = true,
            isCollaborative: Bool = false, followers: Set<String> = []
        ) {
            self.id = id
            self.title = title
            self.creator = creator
            self.type = type
            self.isPublic = isPublic
            self.isCollaborative = isCollaborative
            self.followers = followers
        }
    }

    /// A video.
    public struct Video: Hashable, Sendable {
        /// The id: 24 hex digits.
        public var id: String
        /// The provider, such as `youtube`.
        public var provider: String
        /// The provider's id for the video.
        public var providerID: String
        /// The title.
        public var title: String
        /// The length of the video, in seconds.
        public var durationSeconds: Int
        /// The number of views.
        public var viewCount = 0
        /// The number of complete views.
        public var completeCount = 0
        /// The time of the first report that the video is unplayable, in milliseconds since 1970;
        /// never cleared.
        public var firstUnplayableAt: Int64?
        /// The time of the last report that the video is unplayable, in milliseconds since 1970;
        /// never cleared.
        public var lastUnplayableAt: Int64?

        /// Creates a video.
        public init(
            id: String, provider: String = "youtube", providerID: String, title: String,
            durationSeconds: Int = 213
        ) {
            self.id = id
            self.provider = provider
            self.providerID = providerID
            self.title = title
            self.durationSeconds = durationSeconds
        }
    }

    /// The messages about a frame and its copies.
    public struct Conversation: Hashable, Sendable {
        /// The id: 24 hex digits.
        public var id: String
        /// The messages, oldest first.
        public var messages: [Message] = []

        /// Creates a conversation.
        public init(id: String, messages: [Message] = []) {
            self.id = id
            self.messages = messages
        }
    }

    /// A user's message in a conversation.
    public struct Message: Hashable, Sendable {
        /// The id: 24 hex digits.
        public var id: String
        /// The user who wrote the message.
        public var user: String
        /// The text of the message.
        public var text: String

        /// Creates a message.
        public init(id: String, user: String, text: String) {
            self.id = id
            self.user = user
            self.text = text
        }
    }

    /// A video on a roll.
    public struct Frame: Hashable, Sendable {
        /// The id: 24 hex digits.
        public var id: String
        /// The user who added the frame; nil if the user is no longer known.
        public var creator: String?
        /// The roll of the frame; nil if the frame was removed.
        public var roll: String?
        /// The roll from which the frame was removed.
        public var deletedFromRoll: String?
        /// The video.
        public var video: String?
        /// The conversation; a copy has the same conversation as its original.
        public var conversation: String?
        /// The type: 0 for a shared frame, 1 for the copy created by a like.
        public var type = 0
        /// The frame from which this frame was copied; nil if this frame is not a copy.
        public var original: String?
        /// The users who like the frame, without duplicates.
        public var upvoters: [String] = []
        /// The number of likes, which can exceed the number of upvoters.
        public var likeCount = 0
        /// The number of views.
        public var viewCount = 0
        /// The time of each user's last counted view, in milliseconds since 1970.
        public var viewedAt: [String: Int64] = [:]

        /// Creates a frame.
        public init(
            id: String, creator: String?, roll: String?, video: String?, conversation: String?
        ) {
            self.id = id
            self.creator = creator
            self.roll = roll
            self.video = video
            self.conversation = conversation
        }
    }

    /// A row of a user's dashboard.
    public struct Entry: Hashable, Sendable {
        /// The id: 24 hex digits.
        public var id: String
        /// The user who owns the dashboard.
        public var user: String
        /// The reason for the entry: 0 social, 8 re-roll, 11 like notice, 14 follow notice, 31 to
        /// 34 recommendations, and others.
        public var action: Int
        /// The frame; nil in some notices.
        public var frame: String?
        /// The acting user in a notice.
        public var actor: String?
        /// The frame on which a recommendation is based.
        public var sourceFrame: String?

        /// Creates an entry.
        public init(
            id: String, user: String, action: Int = 0, frame: String?, actor: String? = nil,
            sourceFrame: String? = nil
        ) {
            self.id = id
            self.user = user
            self.action = action
            self.frame = frame
            self.actor = actor
            self.sourceFrame = sourceFrame
        }
    }
}
