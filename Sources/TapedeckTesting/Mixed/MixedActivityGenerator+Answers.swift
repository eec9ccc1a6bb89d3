import Tapedeck

/// Users who ask each other questions, answer with videos, and follow each other.
extension MixedActivityGenerator {
    /// The id of the user who owns the store.
    private static let me: UInt64 = 1
    /// The maximum number of segments in a recording.
    private static let segmentsMax = 5

    /// The numbers of users and answers, the counters of likes and recordings, and the answer being
    /// recorded.
    struct Answering {
        let users: UInt64
        let answers: UInt64
        var like: UInt64 = 0
        var recordings: UInt64 = 0
        var recording: Recording?

        init(videos: UInt64) {
            users = max(16, videos / 20)
            answers = max(256, videos / 4)
        }
    }

    /// An answer being recorded on one device.
    struct Recording {
        static let segmentSeconds = 10.0

        var question: String
        var name: String
        var device: Activity.Device
        var made: UInt64 = 0
        var segments: [String] = []
        var isMerging = false
    }

    /// Records the question that an answer belongs to, always with the same sender and receiver.
    mutating func ask(_ activity: Activity) throws {
        let bits = SeededGenerator.mixed(activity.subject)
        var other = activity
        other.draw = bits
        let question = QuestionObserved.with {
            $0.question = "q\(activity.subject)"
            $0.text = "\(other.saying)?"
            $0.sender = String(bits % answering.users + 1)
            $0.receiver = String(bits & 3 == 0 ? Self.me : bits >> 32 % answering.users + 1)
        }
        try observe(question, beside: activity)
        if random.oneIn(4) {
            let own = QuestionAsked.with {
                $0.receiver = somebody()
                $0.text = "\(activity.saying)?"
            }
            try add(own, beside: activity)
        }
    }

    /// Records observations of a published answer and of other users, and the next step of the
    /// current recording.
    mutating func answer(_ activity: Activity) throws {
        if activity.count > 0 {
            let seen = AnswerObserved.with {
                $0.answer = "a\(activity.number)"
                $0.question = "q\(activity.subject)"
                $0.videoURL = "https://answers.example/\(activity.number).mp4"
                $0.thumbnailURL = "https://answers.example/\(activity.number).jpg"
                $0.likeCount = UInt64(random.below(40))
                $0.commentCount = UInt64(random.below(10))
            }
            try observe(seen, beside: activity)
            for _ in 0..<random.below(4) {
                answering.like += 1
                let like = LikeObserved.with {
                    $0.like = String(answering.like)
                    $0.answer = "a\(activity.number)"
                    $0.user = somebody()
                }
                try observe(like, beside: activity)
            }
        }
        try meet(activity)
        try recordAnswer(activity)
    }

    /// Returns a user other than the owner of the store; low ids are the most frequent.
    private mutating func somebody() -> String {
        String(random.rank(of: answering.users - 1) + 2)
    }

    private mutating func meet(_ activity: Activity) throws {
        let number = random.rank(of: answering.users) + 1
        let name = ActivityTexts.people[Int(number % 16)].description
        if random.oneIn(2) {
            let profile = UserObserved.with {
                ($0.user, $0.username) = (String(number), "\(name)\(number)")
                ($0.firstName, $0.lastName) = (name, "Example")
                $0.imageURL = "https://images.example/users/\(number).jpg"
            }
            try observe(profile, beside: activity)
        }
        if random.oneIn(2) {
            let counts = UserObserved.with {
                ($0.user, $0.username) = (String(number), "\(name)\(number)")
                $0.followerCount = answering.users / number
                $0.followingCount = number % 50
                $0.isOwn = number == Self.me
            }
            try observe(counts, beside: activity)
        }
        let (followed, follower) = (somebody(), somebody())
        if random.oneIn(2), followed != follower {
            let edge = FollowObserved.with {
                ($0.user, $0.follower, $0.isOn) = (followed, follower, !random.oneIn(8))
            }
            try observe(edge, beside: activity)
        }
        if random.oneIn(3) {
            let toggle = FollowToggled.with {
                ($0.user, $0.follower) = (somebody(), String(Self.me))
                $0.isOn = !random.oneIn(3)
            }
            try add(toggle, beside: activity)
        }
        if random.oneIn(8) {
            let edit = ProfileEdited.with {
                $0.user = String(Self.me)
                if random.oneIn(2) { $0.about = activity.saying } else { $0.firstName = "Ada" }
            }
            try add(edit, beside: activity)
        }
    }

    // MARK: - Recording

    /// Records the next step of the current answer.
    ///
    /// A step adds or removes a segment, starts the merge (which may fail), or completes the
    /// answer.
    private mutating func recordAnswer(_ activity: Activity) throws {
        // The recording device performs its steps in order, and its clock is correct.
        var step = activity
        step.atMilliseconds = now
        var recording = answering.recording ?? begin(on: activity.device)
        step.device = recording.device
        if recording.isMerging {
            answering.recording = try endMerge(of: recording, step)
            return
        }
        let count = recording.segments.count
        if count >= Self.segmentsMax || count > 1 && random.oneIn(3) {
            recording.isMerging = true
            let merge = AnswerMergeStarted.with {
                ($0.question, $0.recording) = (recording.question, recording.name)
                $0.segments = recording.segments
            }
            try add(merge, beside: step)
        } else if count > 1, random.oneIn(4) {
            let removed = AnswerSegmentRemoved.with {
                ($0.question, $0.recording) = (recording.question, recording.name)
                $0.segment = recording.segments.removeLast()
            }
            try add(removed, beside: step)
        } else {
            recording.made += 1
            recording.segments.append("s\(recording.made)")
            let segment = AnswerSegmentRecorded.with {
                ($0.question, $0.recording) = (recording.question, recording.name)
                $0.segment = "s\(recording.made)"
                $0.blob = digest(answering.recordings << 8 &+ recording.made)
                $0.durationSeconds = Recording.segmentSeconds
            }
            try add(segment, beside: step)
        }
        answering.recording = recording
    }

    private mutating func begin(on device: Activity.Device) -> Recording {
        answering.recordings += 1
        let question = random.below(answering.answers / 3) + 1
        return Recording(question: "q\(question)", name: "r\(answering.recordings)", device: device)
    }

    /// Returns the recording unchanged if the merge failed, or nil if the answer is complete.
    private mutating func endMerge(
        of recording: Recording, _ step: Activity
    ) throws -> Recording? {
        if random.oneIn(4) {
            let failed = AnswerMergeFailed.with {
                ($0.question, $0.recording) = (recording.question, recording.name)
                $0.reason = "interrupted"
            }
            try add(failed, beside: step)
            var again = recording
            again.isMerging = false
            return again
        }
        let whole = AnswerRecorded.with {
            ($0.question, $0.recording) = (recording.question, recording.name)
            $0.blob = digest(answering.recordings << 8)
            $0.thumbnail = digest(answering.recordings << 8 &+ 255)
            $0.durationSeconds = Double(recording.segments.count) * Recording.segmentSeconds
            ($0.videoExtension, $0.thumbnailExtension) = ("mov", "jpg")
        }
        try add(whole, beside: step)
        return nil
    }
}
