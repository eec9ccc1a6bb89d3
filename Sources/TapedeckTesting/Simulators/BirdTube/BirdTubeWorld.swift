/// What BirdTube's server and its chats hold.
public struct BirdTubeWorld: Hashable, Sendable {
    /// A user.
    public struct User: Hashable, Sendable {
        /// The row's number, which the API shows as the owner of videos and nowhere else.
        public var id: Int64
        /// The e-mail address, by which one signs in.
        public var email: String
        /// What the user is called.
        public var nickname: String
        /// The password.
        public var password: String
        /// What shows a request to be the user's; it never ends.
        public var session: String
        /// The user's name in chats.
        public var sendbirdID: String
        /// When the user signed up, in Unix milliseconds.
        public var createdAt: Int64

        /// Makes a user.
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

    /// A video that was handed in.
    public struct Video: Hashable, Sendable {
        /// YouTube's id of it.
        public var id: String
        /// The address of its page.
        public var url: String
        /// Its title.
        public var title: String
        /// Where its still picture is.
        public var thumbnail: String
        /// The number of who handed it in.
        public var owner: Int64
        /// When it was handed in, in Unix milliseconds; shown in seconds.
        public var createdAt: Int64
        /// Where its chat is held.
        public var channel: String
        /// How often it was opened.
        public var viewer: Int

        /// Makes a video.
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

    /// A file that is sent in a chat.
    public struct File: Hashable, Sendable {
        /// Where it is.
        public var url: String
        /// Its name.
        public var name: String
        /// Its media type.
        public var type: String
        /// How large it is, in bytes.
        public var size: Int64

        /// Makes a file.
        public init(url: String, name: String, type: String, size: Int64) {
            self.url = url
            self.name = name
            self.type = type
            self.size = size
        }
    }

    /// A message in the chat of a video.
    public struct Message: Hashable, Sendable {
        /// The message's number, from 1 in all chats together.
        public var id: Int64
        /// The chat.
        public var channel: String
        /// When it was said, in Unix milliseconds.
        public var at: Int64
        /// `text`, `file`, `system` or `broadcast`.
        public var kind: String
        /// What is said; empty for a file.
        public var text: String
        /// The file that is sent.
        public var file: File?
        /// The name in chats of who says it; empty for nobody.
        public var sender: String
        /// What the sender is called.
        public var senderName: String
        /// What the sender's device called it.
        public var tempID: String
        /// Whether the sender has no account.
        public var isGuest: Bool
        /// Whether it is hidden.
        public var isBlocked: Bool

        /// Makes a message.
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
    /// The videos, in the order in which they were handed in.
    public var videos: [Video] = []
    /// The messages of all chats, in the order in which they came.
    public var messages: [Message] = []

    /// Makes an empty world, to be filled by hand.
    public init() {}

    func video(_ id: String) -> Int? { videos.firstIndex { $0.id == id } }
    func video(ofChannel channel: String) -> Video? { videos.first { $0.channel == channel } }
    func user(ofSession session: String) -> User? { users.first { $0.session == session } }
}
