internal import TapedeckModel
package import TapedeckProjections
package import TapedeckSync
internal import TapedeckVideo

/// The lists for which a missing entry counts as removed.
enum ShelbyV1List {
    /// The frames of a roll, or the rolls that the user follows.
    case feed(ShelbyV1Feed)
    /// The messages of a conversation about a video.
    case conversation(String, about: String)

    init?(_ name: String) {
        if let feed = ShelbyV1Feed(name) {
            self = .feed(feed)
            return
        }
        let parts = name.split(separator: " ", maxSplits: 2).map(String.init)
        guard parts.count == 3 else { return nil }
        self = .conversation(parts[1], about: parts[2])
    }

    /// The name, from which `init` recreates the list.
    var name: String {
        switch self {
        case .feed(let feed): feed.name
        case .conversation(let id, let video): "conversation \(id) \(video)"
        }
    }
}

extension ShelbyV1Connector {
    package func removals(
        from list: WholeList, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> ListFindings {
        let known = KnownEntries(views, projections)
        switch ShelbyV1List(list.name) {
        case .feed(.personalRoll):
            let missing = try known.entries(of: VideoGroup.personalRoll).filter {
                !list.entries.contains($0.entry)
            }
            let gone = try Dictionary(grouping: missing, by: \.video).sorted {
                $0.key.text < $1.key.text
            }.flatMap { video, missing in
                try removals(
                    of: Set(missing.map(\.entry)), of: video, views, account, at: list.readAt)
            }
            return ListFindings(removals: gone)
        case .conversation(let id, let video):
            let comments = try known.comments(on: Tag("video", video), in: id)
            let removals: [ProposedEvent] = try comments.compactMap { comment in
                guard
                    !list.entries.contains(
                        String(comment.dropFirst(ShelbyV1Message.prefix.count)))
                else { return nil }
                var removal = CommentObserved()
                (removal.comment, removal.video, removal.removed) = (comment, video, true)
                removal.conversation = id
                return try ProposedEvent(observation: removal, observedAt: list.readAt)
            }
            return ListFindings(removals: removals)
        case .feed(.roll(let id)):
            let group = VideoGroup.roll(id)
            let removals = try known.entries(of: group).filter {
                !list.entries.contains($0.entry)
            }.map { try removal(of: $0.entry, from: group, $0.video, at: list.readAt) }
            return ListFindings(removals: removals)
        case .feed(.following):
            let removals = try known.followedLists().filter {
                !list.entries.contains(String($0.dropFirst(VideoGroup.roll("").count)))
            }.map { name in
                var observation = ListObserved()
                (observation.list, observation.followed) = (name, false)
                return try proposal(observation, list.readAt)
            }
            return ListFindings(removals: removals)
        case .feed, nil: return ListFindings()
        }
    }

    /// Returns the removals of a video's frames from the user's roll.
    ///
    /// If all copies that the user's likes created are gone, the user no longer likes the video.
    private func removals(
        of frames: Set<String>, of video: Tag, _ views: some ViewReader, _ account: RemoteAccount,
        at time: Int64
    ) throws -> [ProposedEvent] {
        let known = try KnownFrames(video, views)
        let lost = known.copies.filter { frames.contains($0.id) }
        var events: [ProposedEvent] = []
        // Frames that another account created were never on this roll.
        for frame in known.shared + known.copies
        where frames.contains(frame.id) && frame.creator == account.user {
            var removal = FrameObserved()
            (removal.frame, removal.video, removal.removed) = (frame.id, String(video.name), true)
            if frame.isCopy { removal.likedCopy = true }
            events += [
                try proposal(removal, time),
                try self.removal(of: frame.id, from: VideoGroup.personalRoll, video, at: time),
            ]
        }
        if !lost.isEmpty, lost.count == known.copies.count {
            let liked = known.shared.filter(\.isLiked).map(\.id)
            events += try flag(false, liked, of: video, time)
        }
        return events
    }

    /// Returns the removal of a video's entry from a list.
    private func removal(
        of entry: String, from list: String, _ video: Tag, at time: Int64
    ) throws -> ProposedEvent {
        var removal = VideoListed()
        (removal.list, removal.entry) = (list, entry)
        (removal.video, removal.removed) = (String(video.name), true)
        return try proposal(removal, time)
    }
}
