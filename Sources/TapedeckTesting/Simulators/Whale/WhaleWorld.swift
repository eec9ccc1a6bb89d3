/// The data of the Whale system; each table numbers its rows from 1.
public struct WhaleWorld: Hashable, Sendable {
    /// A user.
    public struct User: Hashable, Sendable {
        /// The row's number.
        public var id: Int
        /// The first name.
        public var firstName: String
        /// The last name.
        public var lastName: String
        /// The user name.
        public var username: String
        /// The email address, which is used to log in.
        public var email: String
        /// The password.
        public var password: String
        /// The URL of the image.
        public var imageURL: String?
        /// The time of insertion, in milliseconds since 1970; not shown by the API.
        public var insertedAt: Int64

        /// Creates a user.
        public init(
            id: Int, firstName: String, lastName: String, username: String, email: String,
            password: String, imageURL: String? = nil, insertedAt: Int64
        ) {
            self.id = id
            self.firstName = firstName
            self.lastName = lastName
            self.username = username
            self.email = email
            self.password = password
            self.imageURL = imageURL
            self.insertedAt = insertedAt
        }
    }

    /// A question that one user asks another.
    public struct Question: Hashable, Sendable {
        /// The row's number.
        public var id: Int
        /// The text of the question.
        public var content: String
        /// The user who asks.
        public var sender: Int
        /// The user who is asked.
        public var receiver: Int
        /// The time of insertion, in milliseconds since 1970; not shown by the API.
        public var insertedAt: Int64

        /// Creates a question.
        public init(id: Int, content: String, sender: Int, receiver: Int, insertedAt: Int64) {
            self.id = id
            self.content = content
            self.sender = sender
            self.receiver = receiver
            self.insertedAt = insertedAt
        }
    }

    /// The answer to a question; a question has at most one answer.
    public struct Answer: Hashable, Sendable {
        /// The row's number.
        public var id: Int
        /// The answered question.
        public var question: Int
        /// The URL of the video.
        public var videoURL: String
        /// The URL of the thumbnail.
        public var thumbnailURL: String
        /// The time of insertion, in milliseconds since 1970; not shown by the API.
        public var insertedAt: Int64

        /// Creates an answer.
        public init(
            id: Int, question: Int, videoURL: String, thumbnailURL: String, insertedAt: Int64
        ) {
            self.id = id
            self.question = question
            self.videoURL = videoURL
            self.thumbnailURL = thumbnailURL
            self.insertedAt = insertedAt
        }
    }

    /// A comment on an answer.
    public struct Comment: Hashable, Sendable {
        /// The row's number.
        public var id: Int
        /// The text of the comment.
        public var content: String
        /// The number of the answer.
        public var answer: Int
        /// The user who wrote the comment.
        public var commenter: Int
        /// The time of insertion, in milliseconds since 1970; not shown by the API.
        public var insertedAt: Int64

        /// Creates a comment.
        public init(id: Int, content: String, answer: Int, commenter: Int, insertedAt: Int64) {
            self.id = id
            self.content = content
            self.answer = answer
            self.commenter = commenter
            self.insertedAt = insertedAt
        }
    }

    /// A like of an answer; a user can like the same answer more than once.
    public struct Like: Hashable, Sendable {
        /// The row's number.
        public var id: Int
        /// The user who likes the answer.
        public var user: Int
        /// The number of the answer.
        public var answer: Int
        /// The time of insertion, in milliseconds since 1970; not shown by the API.
        public var insertedAt: Int64

        /// Creates a like.
        public init(id: Int, user: Int, answer: Int, insertedAt: Int64) {
            self.id = id
            self.user = user
            self.answer = answer
            self.insertedAt = insertedAt
        }
    }

    /// A user who follows another user; no route writes this table.
    public struct Relationship: Hashable, Sendable {
        /// The user who follows.
        public var follower: Int
        /// The user who is followed.
        public var followed: Int

        /// Creates a relationship.
        public init(follower: Int, followed: Int) {
            self.follower = follower
            self.followed = followed
        }
    }

    /// The users.
    public var users: [User] = []
    /// The questions.
    public var questions: [Question] = []
    /// The answers whose upload succeeded.
    public var answers: [Answer] = []
    /// The comments.
    public var comments: [Comment] = []
    /// The likes.
    public var likes: [Like] = []
    /// The relationships between users and their followers.
    public var relationships: [Relationship] = []
    var lastNumbers: [String: Int] = [:]

    /// Creates an empty world.
    public init() {}

    func user(_ id: Int) -> User? { users.first { $0.id == id } }
    func question(_ id: Int) -> Question? { questions.first { $0.id == id } }
    func answer(_ id: Int) -> Answer? { answers.first { $0.id == id } }
    func isAnswered(_ question: Int) -> Bool { answers.contains { $0.question == question } }
}
