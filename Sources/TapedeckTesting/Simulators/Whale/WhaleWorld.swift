/// What Whale's system holds; ids are numbers from 1 in each table.
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
        /// The e-mail address, by which one logs in.
        public var email: String
        /// The password.
        public var password: String
        /// Where the image is.
        public var imageURL: String?
        /// When it was inserted, in Unix milliseconds; shown nowhere.
        public var insertedAt: Int64

        /// Makes a user.
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
        /// What is asked.
        public var content: String
        /// Who asks.
        public var sender: Int
        /// Who is asked.
        public var receiver: Int
        /// When it was inserted, in Unix milliseconds; shown nowhere.
        public var insertedAt: Int64

        /// Makes a question.
        public init(id: Int, content: String, sender: Int, receiver: Int, insertedAt: Int64) {
            self.id = id
            self.content = content
            self.sender = sender
            self.receiver = receiver
            self.insertedAt = insertedAt
        }
    }

    /// The answer to a question; there is at most one.
    public struct Answer: Hashable, Sendable {
        /// The row's number.
        public var id: Int
        /// The question that it answers.
        public var question: Int
        /// Where the video is.
        public var videoURL: String
        /// Where the still is.
        public var thumbnailURL: String
        /// When it was inserted, in Unix milliseconds; shown nowhere.
        public var insertedAt: Int64

        /// Makes an answer.
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
        /// What is said.
        public var content: String
        /// The answer that it is said of.
        public var answer: Int
        /// Who says it.
        public var commenter: Int
        /// When it was inserted, in Unix milliseconds; shown nowhere.
        public var insertedAt: Int64

        /// Makes a comment.
        public init(id: Int, content: String, answer: Int, commenter: Int, insertedAt: Int64) {
            self.id = id
            self.content = content
            self.answer = answer
            self.commenter = commenter
            self.insertedAt = insertedAt
        }
    }

    /// A like of an answer; a user may have many of the same answer.
    public struct Like: Hashable, Sendable {
        /// The row's number.
        public var id: Int
        /// Who likes.
        public var user: Int
        /// What is liked.
        public var answer: Int
        /// When it was inserted, in Unix milliseconds; shown nowhere.
        public var insertedAt: Int64

        /// Makes a like.
        public init(id: Int, user: Int, answer: Int, insertedAt: Int64) {
            self.id = id
            self.user = user
            self.answer = answer
            self.insertedAt = insertedAt
        }
    }

    /// One user following another: the table is there, and no route writes it.
    public struct Relationship: Hashable, Sendable {
        /// Who follows.
        public var follower: Int
        /// Who is followed.
        public var followed: Int

        /// Makes a relationship.
        public init(follower: Int, followed: Int) {
            self.follower = follower
            self.followed = followed
        }
    }

    /// The users.
    public var users: [User] = []
    /// The questions.
    public var questions: [Question] = []
    /// The answers whose upload has ended well.
    public var answers: [Answer] = []
    /// The comments.
    public var comments: [Comment] = []
    /// The likes.
    public var likes: [Like] = []
    /// Who follows whom.
    public var relationships: [Relationship] = []
    var lastNumbers: [String: Int] = [:]

    /// Makes an empty world, to be filled by hand.
    public init() {}

    func user(_ id: Int) -> User? { users.first { $0.id == id } }
    func question(_ id: Int) -> Question? { questions.first { $0.id == id } }
    func answer(_ id: Int) -> Answer? { answers.first { $0.id == id } }
    func isAnswered(_ question: Int) -> Bool { answers.contains { $0.question == question } }
}
