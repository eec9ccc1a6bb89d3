extension WhaleWorld {
    /// Generates a world as of `now`.
    ///
    /// The world has 45 answered questions, 30 open questions, and six users, the first of whom is
    /// `SimulatorAccount`. Every fifth question is for the first user. Only some answers have
    /// comments and likes.
    public init(seed: UInt64, at now: Int64) {
        var random = SeededGenerator(seed: SeededGenerator.mixed(seed ^ 0x3A1E))
        self.init()
        let start = now - 30 * SimulatedTime.dayMilliseconds
        for number in 1...6 {
            let name = SimulatedTexts.person(number - 1)
            users.append(
                User(
                    id: number, firstName: name.capitalized, lastName: "Example", username: name,
                    email: number == 1 ? SimulatorAccount.user : "user\(number)@example.org",
                    password: number == 1 ? SimulatorAccount.password : "password \(number)",
                    imageURL: number.isMultiple(of: 3) ? nil : "http://img.example.org/\(name).jpg",
                    insertedAt: number < 5 ? start : now - SimulatedTime.dayMilliseconds))
        }
        relationships = [
            Relationship(follower: 1, followed: 2), Relationship(follower: 3, followed: 1),
        ]
        let step = UInt64(28 * SimulatedTime.dayMilliseconds / 150)
        var time = start
        for number in 1...75 {
            time += 1 + Int64(random.below(2 * step))
            let receiver = number.isMultiple(of: 5) ? 1 : 2 + (number + number / 5) % 5
            ask(number, receiver: receiver, at: min(time, now), &random)
            guard number <= 45 else { continue }
            let answer = publish(question: number, at: min(time + Int64(step), now))
            for _ in 0..<(number.isMultiple(of: 3) ? random.below(12) : 0) {
                remark(
                    answer, by: 1 + random.below(6), at: min(time + 2 * Int64(step), now), &random)
            }
            for user in 2...6 where number.isMultiple(of: 2) && random.oneIn(2) {
                insertLike(user: user, answer: answer, at: min(time + 2 * Int64(step), now))
            }
        }
    }

    // MARK: - Rows

    /// Returns the next number in a table; numbers of removed rows are not reused.
    private mutating func next(_ table: String, _ ids: [Int]) -> Int {
        let number = max(lastNumbers[table] ?? 0, ids.max() ?? 0) + 1
        lastNumbers[table] = number
        return number
    }

    mutating func ask(
        _ number: Int, receiver: Int, at time: Int64, _ random: inout SeededGenerator
    ) {
        let senders = users.map(\.id).filter { $0 != receiver }
        let sender = random.pick(senders.isEmpty ? [receiver] : senders)
        insertQuestion(
            "\(SimulatedTexts.title(&random))?", sender: sender, receiver: receiver, at: time)
    }

    @discardableResult
    mutating func insertQuestion(
        _ content: String, sender: Int, receiver: Int, at time: Int64
    ) -> Question {
        let row = Question(
            id: next("questions", questions.map(\.id)), content: content, sender: sender,
            receiver: receiver, insertedAt: time)
        questions.append(row)
        return row
    }

    /// Publishes an answer and returns its id.
    @discardableResult
    mutating func publish(question: Int, at time: Int64, extension: String = "mov") -> Int {
        let id = next("answers", answers.map(\.id))
        let place = "http://media.example.org/answers/\(id)"
        answers.append(
            Answer(
                id: id, question: question, videoURL: "\(place)/video.\(`extension`)",
                thumbnailURL: "\(place)/thumbnail.jpg", insertedAt: time))
        return id
    }

    mutating func remark(
        _ answer: Int, by user: Int, at time: Int64, _ random: inout SeededGenerator
    ) {
        insertComment(SimulatedTexts.comment(&random), answer: answer, by: user, at: time)
    }

    @discardableResult
    mutating func insertComment(
        _ content: String, answer: Int, by user: Int, at time: Int64
    ) -> Comment {
        let row = Comment(
            id: next("comments", comments.map(\.id)), content: content, answer: answer,
            commenter: user,
            insertedAt: time)
        comments.append(row)
        return row
    }

    @discardableResult
    mutating func insertLike(user: Int, answer: Int, at time: Int64) -> Like {
        let row = Like(
            id: next("likes", likes.map(\.id)), user: user, answer: answer, insertedAt: time)
        likes.append(row)
        return row
    }

    mutating func insertUser(_ user: User) -> User {
        var user = user
        user.id = next("users", users.map(\.id))
        users.append(user)
        return user
    }
}
