import Tapedeck

/// Comments and chats about videos, and videos that users submit.
extension MixedActivityGenerator {
    /// The last number assigned to each kind of object.
    struct Talk {
        var comment: UInt64 = 0
        var message: Int64 = 0
    }

    /// Records comments by others, likes by the user, and more chat messages.
    mutating func discuss(_ activity: Activity) throws {
        if random.oneIn(2) {
            talk.comment += 1
            let comment = CommentObserved.with {
                $0.comment = "whale:\(talk.comment)"
                if activity.isAboutAnswer {
                    $0.answer = "a\(activity.subject)"
                } else {
                    $0.video = activity.video
                }
                // Another user wrote this comment, so its text differs from the user's own comment.
                var other = activity
                other.draw = random.next()
                ($0.text, $0.author) = (other.saying, other.person)
                $0.createdAt.seconds = Int64(activity.atMilliseconds / 1_000)
            }
            try observe(comment, beside: activity)
        }
        if random.oneIn(2) {
            let like = LikeToggled.with {
                if activity.isAboutAnswer {
                    $0.answer = "a\(activity.subject)"
                } else {
                    $0.video = activity.video
                }
                $0.isOn = !random.oneIn(4)
            }
            try add(like, beside: activity)
        }
        if random.oneIn(2) { try chat(activity) }
    }

    private mutating func chat(_ activity: Activity) throws {
        for _ in 0...random.below(4) {
            talk.message += 1
            var other = activity
            other.draw = random.next()
            let message = ChatMessageObserved.with {
                $0.message = talk.message
                $0.video = activity.video
                if random.oneIn(16) {
                    $0.kind = "file"
                    $0.file = picture()
                } else {
                    $0.text = other.saying
                }
                $0.sender = "\(other.person)@example.org"
                $0.senderName = other.person
                $0.at.seconds = Int64(activity.atMilliseconds / 1_000)
                $0.isGuest = false
                if random.oneIn(32) { $0.isBlocked = true }
            }
            try observe(message, beside: activity)
        }
        guard random.oneIn(4) else { return }
        let own = ChatMessagePosted.with {
            $0.video = activity.video
            if random.oneIn(8) { $0.file = picture() } else { $0.text = activity.saying }
            $0.sender = Accounts.address
        }
        try add(own, beside: activity)
    }

    private func picture() -> ChatFile {
        .with {
            $0.url = "https://files.example/\(talk.message).png"
            ($0.name, $0.type, $0.bytes) = ("\(talk.message).png", "image/png", 20_480)
        }
    }

    /// Records a video submitted by the user, or the observation of a video submitted by another
    /// user.
    mutating func submit(_ activity: Activity) throws {
        if random.oneIn(4) {
            let own = VideoSubmitted.with {
                ($0.video, $0.title) = (activity.video, activity.title)
            }
            return try add(own, beside: activity)
        }
        let seen = SubmissionObserved.with {
            ($0.video, $0.title) = (activity.video, activity.title)
            $0.owner = "\(activity.person)@example.org"
            $0.createdAt.seconds = Int64(activity.seconds)
            // Popular videos have more views, and the number never falls.
            $0.views = activity.number / (activity.videoRank + 1) + 1
            $0.channel = "https://chat.example/\(activity.videoRank)"
        }
        try observe(seen, beside: activity)
    }
}
