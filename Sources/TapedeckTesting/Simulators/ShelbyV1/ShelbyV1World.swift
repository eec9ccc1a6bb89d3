/// What Shelby's system of 2012 to 2014 holds; every row by its id.
public struct ShelbyV1World: Hashable, Sendable {
    /// The users.
    public var users: [String: User] = [:]
    /// The rolls.
    public var rolls: [String: Roll] = [:]
    /// The videos; one for each provider and id.
    public var videos: [String: Video] = [:]
    /// The conversations.
    public var conversations: [String: Conversation] = [:]
    /// The frames, also those that were removed: they only left their roll.
    public var frames: [String: Frame] = [:]
    /// The entries of all dashboards.
    public var entries: [String: Entry] = [:]
    /// Authentication tokens, and the ids of those whose they are.
    public var tokens: [String: String] = [:]
    /// The rolls that are shown to whoever looks for some.
    public var featured: [String] = []
    var lastNumber = 0

    /// Makes an empty world, to be filled by hand.
    public init() {}

    /// A new id, whose first digits are the time.
    public mutating func makeID(at milliseconds: Int64) -> String {
        lastNumber += 1
        return MongoID.make(at: milliseconds, number: lastNumber)
    }
}

extension ShelbyV1World {
    /// A user.
    public struct User: Hashable, Sendable {
        /// 24 hex digits.
        public var id: String
        /// The name that others see first.
        public var nickname: String
        /// The e-mail address, by which one logs in.
        public var email: String
        /// The password.
        public var password: String
        /// The roll that holds what the user shares and likes.
        public var publicRoll: String
        /// The id at Twitter, by which one logs in, too.
        public var twitterID: String

        /// Makes a user.
        public init(
            id: String, nickname: String, email: String, password: String, publicRoll: String,
            twitterID: String = ""
        ) {
            self.id = id
            self.nickname = nickname
            self.email = email
            self.password = password
            self.publicRoll = publicRoll
            self.twitterID = twitterID
        }
    }

    /// A list of frames.
    public struct Roll: Hashable, Sendable {
        /// 24 hex digits.
        public var id: String
        /// What it is called.
        public var title: String
        /// The user whose it is.
        public var creator: String
        /// 30 for a user's public roll, 31 for a global one, 50 for a private one.
        public var type: Int
        /// Whether all may see it.
        public var isPublic: Bool
        /// Whether those who follow it may add to it.
        public var isCollaborative: Bool
        /// The users who follow it.
        public var followers: Set<String>

        /// Makes a roll.
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
        /// 24 hex digits.
        public var id: String
        /// Who has the video, such as `youtube`.
        public var provider: String
        /// The provider's id.
        public var providerID: String
        /// The title.
        public var title: String
        /// How long it is, in seconds.
        public var durationSeconds: Int
        /// How often it was viewed.
        public var viewCount = 0
        /// How often it was played to its end.
        public var completeCount = 0
        /// When it was first said to be unplayable, in Unix milliseconds; never cleared.
        public var firstUnplayableAt: Int64?
        /// When it was last said to be unplayable, in Unix milliseconds; never cleared.
        public var lastUnplayableAt: Int64?

        /// Makes a video.
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

    /// What is said of a frame and of its copies.
    public struct Conversation: Hashable, Sendable {
        /// 24 hex digits.
        public var id: String
        /// What was said, the oldest first.
        public var messages: [Message] = []

        /// Makes a conversation.
        public init(id: String, messages: [Message] = []) {
            self.id = id
            self.messages = messages
        }
    }

    /// Something that a user said.
    public struct Message: Hashable, Sendable {
        /// 24 hex digits.
        public var id: String
        /// Who said it.
        public var user: String
        /// What was said.
        public var text: String

        /// Makes a message.
        public init(id: String, user: String, text: String) {
            self.id = id
            self.user = user
            self.text = text
        }
    }

    /// A video on a roll.
    public struct Frame: Hashable, Sendable {
        /// 24 hex digits.
        public var id: String
        /// Who put it there; nil where that is not known any more.
        public var creator: String?
        /// The roll that it stands on; nil when it was removed.
        public var roll: String?
        /// The roll that it was removed from.
        public var deletedFromRoll: String?
        /// The video.
        public var video: String?
        /// The conversation, which copies share with the original.
        public var conversation: String?
        /// 0 for what was shared, 1 for what was liked.
        public var type = 0
        /// The frame that it is a copy of.
        public var original: String?
        /// Who likes it; a set.
        public var upvoters: [String] = []
        /// How often it was liked; more often than there are upvoters.
        public var likeCount = 0
        /// How often it was viewed.
        public var viewCount = 0
        /// When each user last had a view counted, in Unix milliseconds.
        public var viewedAt: [String: Int64] = [:]

        /// Makes a frame.
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
        /// 24 hex digits.
        public var id: String
        /// The user whose dashboard it stands in.
        public var user: String
        /// Why it stands there: 0 social, 8 re-roll, 11 like notice, 14 follow notice, 31 to 34
        /// recommendations, and others.
        public var action: Int
        /// The frame; nil in some notices.
        public var frame: String?
        /// Who acted, in notices.
        public var actor: String?
        /// The frame that a recommendation comes from.
        public var sourceFrame: String?

        /// Makes an entry.
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
