/// The data of BirdTube's server and its chats.
public struct BirdTubeWorld: Hashable, Sendable {
    /// A user.
    public struct User: Hashable, Sendable {
        /// The row's number, which the API shows only as the owner of videos.
        public var id: Int64
        /// The email address, which is used to sign in.
        public var email: String
        /// The nickname.
        public var nickname: String
        /// The password.
        public var password: String
        /// The session token, which authenticates the user's requests and never expires.
        public var session: String
        /// The user's id in chats.
        public var sendbirdID: String
        /// The time of sign-up, in milliseconds since 1970.
        public var createdAt: Int64

        /// Creates a user.
        public init(
            id: Int64, email: String, nickname: String, password: String, session: String,
            sendbirdID: String, createdAt: Int64
        ) {
            self.id = id
            self.email = email
            self.nickname = nickname
            self.password = password
            self.session = session
            self.sendbirdID = sendbirdID
            self.createdAt = createdAt
        }
    }

    /// A submitted video.
    public struct Video: Hashable, Sendable {
        /// The video's YouTube id.
        public var id: String
        /// The URL of the video's page.
        public var url: String
        /// The video's title.
        public var title: String
        /// The URL of the thumbnail.
        public var thumbnail: String
        /// The number of the user who submitted the video.
        public var owner: Int64
        /// The time of submission, in milliseconds since 1970; the API shows it in seconds.
        public var createdAt: Int64
        /// The URL of the video's chat.
        public var channel: String
        /// The number of views.
        public var viewer: Int

        /// Creates a video.
        public init(
            id: String, url: String, title: String, thumbnail: String, owner: Int64,
            createdAt: Int64, channel: String, viewer: Int = 0
        ) {
            self.id = id
            self.url = url
            self.title = title
            self.thumbnail = thumbnail
            self.owner = owner
            self.createdAt = createdAt
            self.channel = channel
            self.viewer = viewer
        }
    }

    /// A file sent in a chat.
    public struct File: Hashable, Sendable {
        /// The URL of the file.
        public var url: String
        /// The file's name.
        public var name: String
        /// The file's media type.
        public var type: String
        /// The size of the file, in bytes.
        public var size: Int64

        /// Creates a file.
        public init(url: String, name: String, type: String, size: Int64) {
            self.url = url
            self.name = name
            self.type = type
            self.size = size
        }
    }

    /// A message in the chat of a video.
    public struct Message: Hashable, Sendable {
        /// The message's number, counted from 1 across all chats.
        public var id: Int64
        /// The URL of the chat.
        public var channel: String
        /// The time of the message, in milliseconds since 1970.
        public var at: Int64
        /// The kind: `text`, `file`, `system` or `broadcast`.
        public var kind: String
        /// The text; empty for a file.
        public var text: String
        /// The attached file.
        public var file: File?
        /// The sender's id in chats; empty if there is none.
        public var sender: String
        /// The sender's nickname.
        public var senderName: String
        /// The temporary id assigned by the sender's device.
        public var tempID: String
        /// Whether the sender has no account.
        public var isGuest: Bool
        /// Whether the message is hidden.
        public var isBlocked: Bool

        /// Creates a message.
        public init(
            id: Int64, channel: String, at: Int64, kind: String = "text", text: String = "",
            file: File? = nil, sender: String = "", senderName: String = "", tempID: String = "",
            isGuest: Bool = false, isBlocked: Bool = false
        ) {
            self.id = id
            self.channel = channel
            self.at = at
            self.kind = kind
            self.text = text
            self.file = file
            self.sender = sender
            self.senderName = senderName
            self.tempID = tempID
            self.isGuest = isGuest
            self.isBlocked = isBlocked
        }
    }

    /// The users.
    public var users: [User] = []
    /// The videos, in order of submission.
    public var videos: [Video] = []
    /// The messages of all chats, in order of arrival.
    public var messages: [Message] = []

    /// Creates an empty world.
    public init() {}

    func video(_ id: String) -> Int? { videos.firstIndex { $0.id == id } }
    func video(ofChannel channel: String) -> Video? { videos.first { $0.channel == channel } }
    func user(ofSession session: String) -> User? { users.first { $0.session == session } }
}
