internal import TapedeckModel
internal import TapedeckProjections
internal import TapedeckVideo

/// The frames that contain a video in Shelby's 2012–2014 API.
///
/// An intent for a video is sent to one of its frames. Items: `f` id → the state of the frame,
/// which is merged from its observations, field by field, in canonical order.
struct ShelbyFrames: Projection {
    var name: String { "shelby-frames" }
    var version: Int { 2 }
    var tagKind: String { "video" }
    var eventTypes: [EventType] { [FrameObserved.eventType, CommentObserved.eventType] }
    var ruleText: String? {
        """
        The observations of a frame are merged: newer values replace older values, and the \
        newest observation decides whether the frame was removed. Only the greatest message id of \
        a video is kept.
        """
    }
    /// Empty, because frames are only looked up by video.
    var tables: [String] { [] }

    struct State: ProjectionState, Equatable {
        /// The highest message id seen in a conversation about the video; empty if there is none.
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
        let observation = try event.decode(FrameObserved.self)
        let name = RowKey(ShelbyFrames.prefix + Array(observation.frame.utf8))
        var frame =
            try key.item(name).map { try KnownFrame($0) } ?? KnownFrame(id: observation.frame)
        frame.take(observation)
        key.setItem(name, frame.encoded)
    }

    func rows(of state: State, key: Tag, into rows: inout RowSink) {}

    fileprivate static let prefix: [UInt8] = [UInt8(ascii: "f")]
}

/// The known state of a frame.
struct KnownFrame: Hashable {
    var id: String
    var conversation: String?
    var creator: String?
    var isLiked = false
    /// Whether the frame is a copy that was created when the account's user liked the video.
    var isCopy = false
    var isRemoved = false

    init(id: String) { self.id = id }

    mutating func take(_ observation: FrameObserved) {
        if observation.hasConversation { conversation = observation.conversation }
        if observation.hasCreator { creator = observation.creator }
        if observation.hasLiked { isLiked = observation.liked }
        if observation.hasLikedCopy { isCopy = observation.likedCopy }
        isRemoved = observation.removed
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

/// The frames of one video, grouped by the actions the account can take on them.
struct KnownFrames {
    /// The frames that the user or other users have shared, oldest first.
    var shared: [KnownFrame] = []
    /// The existing copies that the user's likes created.
    var copies: [KnownFrame] = []
    /// The highest message id seen in a conversation about the video; empty if there is none.
    var newestMessage: String

    /// The maximum number of frames that are read per video.
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

    /// Whether the user likes the video in any of its frames.
    var isLiked: Bool { !copies.isEmpty || shared.contains(where: \.isLiked) }

    /// Returns the frame that represents the video.
    ///
    /// - Parameter user: A user whose frames are skipped; nil to skip none.
    func winner(_ rule: WinnerRule, notOf user: String? = nil) -> KnownFrame? {
        let frames = shared.filter { user == nil || $0.creator != user }
        return rule == .oldest ? frames.first : frames.last
    }

    /// Returns the conversation of the frame that represents the video, or of any other frame if
    /// that frame has no conversation.
    func conversation(_ rule: WinnerRule) -> String? {
        winner(rule)?.conversation ?? (shared + copies).lazy.compactMap(\.conversation).first
    }
}
