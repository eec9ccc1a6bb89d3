internal import TapedeckModel
internal import TapedeckProjections
internal import TapedeckVideo

/// The frames at which Shelby's API of 2012 to 2014 holds a video: what is wanted of the video is asked
/// of one of them.
///
/// Items: `f` id → what is known of the frame, its sightings merged field by field in canonical order.
struct ShelbyFrames: Projection {
    var name: String { "shelby-frames" }
    var version: Int { 1 }
    var tagKind: String { "video" }
    var eventTypes: [EventType] { [FrameObserved.eventType, CommentObserved.eventType] }
    var ruleText: String? {
        """
        Each frame is the sum of its sightings, newer over older; of the messages the greatest id counts.
        """
    }
    /// None: frames are looked up by their video.
    var tables: [String] { [] }

    struct State: ProjectionState, Equatable {
        /// The newest message that was seen in any of the frames' conversations; empty for none.
        var newestMessage = ""

        init() {}

        init(decoding bytes: inout StateReader) throws { newestMessage = try bytes.string() }

        func encode(into bytes: inout StateWriter) { bytes.add(newestMessage) }
    }

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        guard event.typeIndex == 0 else {
            let comment = try event.decode(CommentObserved.self).comment
            guard comment.hasPrefix(ShelbyV1Message.prefix),
                let id = ShelbyV1ID(String(comment.dropFirst(ShelbyV1Message.prefix.count)))
            else { return }
            key.state.newestMessage = max(key.state.newestMessage, id.text)
            return
        }
        let sighting = try event.decode(FrameObserved.self)
        let name = RowKey(ShelbyFrames.prefix + Array(sighting.frame.utf8))
        var frame =
            try key.item(name).map { try KnownFrame($0) } ?? KnownFrame(id: sighting.frame)
        frame.take(sighting)
        key.setItem(name, frame.encoded)
    }

    func rows(of state: State, key: Tag, into rows: inout RowSink) {}

    fileprivate static let prefix: [UInt8] = [UInt8(ascii: "f")]
}

/// What is known of a frame.
struct KnownFrame: Hashable {
    var id: String
    var conversation: String?
    var creator: String?
    var isLiked = false
    /// Whether a like of the account's user has made it.
    var isCopy = false
    var isRemoved = false

    init(id: String) { self.id = id }

    mutating func take(_ sighting: FrameObserved) {
        if sighting.hasConversation { conversation = sighting.conversation }
        if sighting.hasCreator { creator = sighting.creator }
        if sighting.hasLiked { isLiked = sighting.liked }
        if sighting.hasLikedCopy { isCopy = sighting.likedCopy }
        if sighting.hasRemoved { isRemoved = sighting.removed }
    }

    init(_ bytes: [UInt8]) throws(ModelError) {
        self = try StateReader.read(bytes) { (reader) throws(ModelError) in
            var frame = KnownFrame(id: try reader.string())
            frame.conversation = try reader.optionalString()
            frame.creator = try reader.optionalString()
            frame.isLiked = try reader.bool()
            frame.isCopy = try reader.bool()
            frame.isRemoved = try reader.bool()
            return frame
        }
    }

    var encoded: [UInt8] {
        var writer = StateWriter()
        writer.add(id)
        writer.add(conversation)
        writer.add(creator)
        for flag in [isLiked, isCopy, isRemoved] { writer.add(flag) }
        return writer.bytes
    }
}

/// The frames of one video, by what an account can do with them.
struct KnownFrames {
    /// Those that others, or the user, have shared; the oldest first.
    var shared: [KnownFrame] = []
    /// The copies that the user's likes have made and that are still there.
    var copies: [KnownFrame] = []
    /// The newest message that was seen about the video; empty for none.
    var newestMessage: String

    /// More frames of one video are not looked at.
    private static let countMax = 500

    init(_ video: Tag, _ views: some ViewReader) throws {
        let frames = ShelbyFrames()
        newestMessage = try views.state(of: frames, key: video)?.newestMessage ?? ""
        for row in try views.items(
            of: frames, key: video, prefix: RowKey(ShelbyFrames.prefix), after: nil,
            limit: KnownFrames.countMax)
        {
            let frame = try KnownFrame(row.value)
            if frame.isRemoved { continue }
            if frame.isCopy { copies.append(frame) } else { shared.append(frame) }
        }
    }

    /// Whether the user likes the video at one of them.
    var isLiked: Bool { !copies.isEmpty || shared.contains(where: \.isLiked) }

    /// The frame that stands for the video.
    ///
    /// - Parameter user: whose frames do not count; nil counts all.
    func winner(_ rule: WinnerRule, notOf user: String? = nil) -> KnownFrame? {
        let frames = shared.filter { user == nil || $0.creator != user }
        return rule == .oldest ? frames.first : frames.last
    }

    /// The conversation about the video, at the frame that stands for it or else at any.
    func conversation(_ rule: WinnerRule) -> String? {
        winner(rule)?.conversation ?? (shared + copies).lazy.compactMap(\.conversation).first
    }
}
