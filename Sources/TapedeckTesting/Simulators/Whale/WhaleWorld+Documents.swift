/// The format of Whale's responses, with inconsistent names, no dates, and null instead of a count
/// of 0.
extension WhaleWorld {
    /// Returns a count the way a left join does: null instead of 0.
    private func joined(_ count: Int) -> SimulatedJSON { count == 0 ? .null : .count(count) }

    /// Returns a user without counts, as in questions and lists of users.
    func detail(_ id: Int) -> SimulatedJSON {
        guard let user = user(id) else { return .null }
        return [
            "id": .count(id), "first_name": .text(user.firstName),
            "last_name": .text(user.lastName), "username": .text(user.username),
            "image_url": .optional(user.imageURL), "email": .text(user.email),
        ]
    }

    /// Returns a user whose counts are not loaded.
    func bare(_ id: Int) -> SimulatedJSON {
        detail(id).adding(["follower_count": nil, "following_count": nil])
    }

    /// Returns a user with counts.
    func full(_ id: Int) -> SimulatedJSON {
        detail(id).adding([
            "follower_count": joined(relationships.count { $0.followed == id }),
            "following_count": joined(relationships.count { $0.follower == id }),
        ])
    }

    func document(_ question: Question) -> SimulatedJSON {
        [
            "id": .count(question.id), "content": .text(question.content),
            "sender": detail(question.sender), "receiver": detail(question.receiver),
        ]
    }

    func document(_ answer: Answer) -> SimulatedJSON {
        [
            "id": .count(answer.id), "thumbnail_url": .text(answer.thumbnailURL),
            "video_url": .text(answer.videoURL),
            "question": question(answer.question).map { document($0) } ?? .null,
            "likes_count": joined(likes.count { $0.answer == answer.id }),
            "comment_count": joined(comments.count { $0.answer == answer.id }),
        ]
    }

    func document(_ comment: Comment) -> SimulatedJSON {
        [
            "id": .count(comment.id), "content": .text(comment.content),
            "answer_id": .count(comment.answer), "commenter": bare(comment.commenter),
        ]
    }

    func document(_ like: Like) -> SimulatedJSON {
        [
            "id": .count(like.id), "user_id": .count(like.user), "answer_id": .count(like.answer),
            "user": bare(like.user),
        ]
    }
}
