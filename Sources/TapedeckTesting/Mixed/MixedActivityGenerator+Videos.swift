import Tapedeck

/// Events about videos that are shared, played and downloaded.
extension MixedActivityGenerator {
    /// The average number of changes to the queue before it is cleared.
    private static let queueChanges: UInt64 = 32

    /// Records the list entry and the frame of a broadcast, and a playability check.
    mutating func list(_ activity: Activity) throws {
        if random.oneIn(4) {
            let listed = VideoListed.with {
                $0.list = list(random.below(32))
                $0.entry = "e\(activity.number)"
                $0.video = activity.video
                $0.listedAt.seconds = Int64(activity.seconds)
                if random.oneIn(16) { $0.removed = true }
            }
            try observe(listed, beside: activity)
        }
        if random.oneIn(8) {
            let frame = FrameObserved.with {
                $0.frame = "f\(activity.number)"
                $0.video = activity.video
                $0.conversation = "c\(activity.number)"
                $0.creator = activity.person
                $0.title = activity.title
                $0.liked = random.oneIn(8)
                guard random.oneIn(16) else { return }
                $0.firstUnplayableAt.seconds = Int64(activity.seconds)
                $0.lastUnplayableAt.seconds = Int64(activity.atMilliseconds / 1_000)
            }
            try observe(frame, beside: activity)
            let described = VideoDescribed.with {
                $0.video = activity.video
                $0.title = activity.title
                $0.thumbnailURL = "https://img.example.org/\(activity.videoRank).jpg"
                $0.durationSeconds = Double(activity.durationSeconds)
            }
            try observe(described, beside: activity)
        }
        if random.oneIn(8) { try check(activity) }
    }

    /// Returns the name of a list: usually the stream, otherwise the personal roll, a dashboard or
    /// another roll.
    private func list(_ number: Int) -> String {
        switch number {
        case ..<20: "stream"
        case ..<24: "personal-roll"
        case ..<28: "dashboard/d\(number - 23)"
        default: "roll/r\(number - 27)"
        }
    }

    private mutating func check(_ activity: Activity) throws {
        let checked = PlayabilityChecked.with {
            $0.video = activity.video
            switch random.below(10) {
            case 0: ($0.outcome, $0.reason) = ("unplayable", "embedding-denied")
            case 1:
                ($0.outcome, $0.reason, $0.attempt) = ("failed", "timeout", 1)
                $0.retryAfterSeconds = 60
            default: $0.outcome = "playable"
            }
        }
        try add(checked, beside: activity)
    }

    /// Records failed extractions, 15 seconds apart; the last one is 15 seconds before `activity`.
    mutating func failToExtract(_ activity: Activity) throws {
        let tries = 1 + random.below(3)
        for attempt in 1...tries {
            var before = activity
            before.atMilliseconds -= UInt64(tries + 1 - attempt) * 15_000
            let failed = ExtractionFailed.with {
                $0.video = activity.video
                $0.reason = "timeout"
                $0.attempt = UInt32(attempt)
                $0.retryAfterSeconds = 15
            }
            try add(failed, beside: before)
        }
    }

    /// Records the video that a player is playing, a viewing, or a change to the queue.
    mutating func play(_ activity: Activity) throws {
        if random.oneIn(4) {
            let playing = NowPlayingChanged.with {
                $0.device = activity.device.name
                guard !random.oneIn(16) else { return }
                $0.video = activity.video
                $0.viewing = "v\(activity.number)"
                $0.positionSeconds = Double(activity.seconds)
                $0.isPlaying = !random.oneIn(3)
            }
            try add(playing, beside: activity)
        }
        if random.oneIn(4) {
            let opened = VideoOpened.with {
                $0.video = activity.video
                $0.viewer = "guest-\(activity.device.name)"
                $0.viewing = "v\(activity.number)"
            }
            try add(opened, beside: activity)
        }
        if random.oneIn(8) {
            let watched = VideoWatched.with {
                $0.video = activity.video
                $0.startSeconds = 0
                $0.endSeconds = Double(activity.seconds)
                $0.isComplete = activity.seconds == activity.durationSeconds
            }
            try add(watched, beside: activity)
        }
        if random.oneIn(8) { try queue(activity) }
    }

    private mutating func queue(_ activity: Activity) throws {
        let queue = activity.device == .laptop ? "evening" : ""
        guard !random.oneIn(MixedActivityGenerator.queueChanges) else {
            return try add(QueueCleared.with { $0.queue = queue }, beside: activity)
        }
        switch random.below(8) {
        case 0, 1:
            let next = VideoQueuedNext.with {
                ($0.queue, $0.video) = (queue, activity.video)
                var other = activity
                other.videoRank = activity.videoRank ^ 1
                if random.oneIn(2) { $0.after = other.video }
            }
            try add(next, beside: activity)
        case 2, 3:
            let gone = VideoUnqueued.with { ($0.queue, $0.video) = (queue, activity.video) }
            try add(gone, beside: activity)
        default:
            let queued = VideoQueued.with { ($0.queue, $0.video) = (queue, activity.video) }
            try add(queued, beside: activity)
        }
    }

    /// Records the download of a video marked to watch later, the removal of the download after its
    /// video is unmarked, or a share; the recipient of an email is added to the address book.
    mutating func keep(_ activity: Activity) throws {
        if random.oneIn(4) {
            if activity.count == 1 {
                let done = DownloadCompleted.with {
                    ($0.device, $0.video) = (activity.device.name, activity.video)
                    $0.blob = digest(activity.videoRank)
                    $0.bytes = activity.durationSeconds * 131_072
                }
                try add(done, beside: activity)
            } else {
                let gone = DownloadRemoved.with {
                    ($0.device, $0.video) = (activity.device.name, activity.video)
                }
                try add(gone, beside: activity)
            }
        }
        if random.oneIn(8) {
            let shared = VideoShared.with {
                $0.video = activity.video
                $0.text = activity.saying
                if random.oneIn(3) {
                    ($0.destinations, $0.to) = (["email"], "\(activity.person)@example.org")
                } else {
                    $0.destinations = [pick(["facebook", "tumblr", "twitter"])]
                }
            }
            try add(shared, beside: activity)
            guard shared.hasTo else { return }
            let contact = ContactNoted.with {
                $0.address = shared.to
                if random.oneIn(8) { $0.removed = true } else { $0.name = activity.person }
            }
            try add(contact, beside: activity)
        }
    }
}
