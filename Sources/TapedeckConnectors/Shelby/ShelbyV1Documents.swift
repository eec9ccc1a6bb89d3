internal import SwiftProtobuf
internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// The responses of Shelby's API of 2012 to 2014.
enum ShelbyV1Documents {
    /// What stands in an answer's envelope.
    ///
    /// The body's own status counts: a dashboard without a login is HTTP 404 with a body that says 401.
    static func result(_ response: RemoteResponse) throws(SyncFailure) -> JSONValue {
        guard case .object(let members) = try ShelbyDocuments.document(response),
            let status = members["status"]?.int64
        else {
            throw response.failure
                ?? SyncFailure(.unavailable, "Shelby did not answer as its API does")
        }
        guard (200..<300).contains(status) else {
            throw failure(status, members["message"], response)
        }
        if let failure = response.failure { throw failure }
        guard let result = members["result"] else {
            throw SyncFailure(.unavailable, "Shelby's answer has no result")
        }
        return result
    }

    private static func failure(
        _ status: Int64, _ message: JSONValue?, _ response: RemoteResponse
    ) -> SyncFailure {
        var text = "Shelby answered with \(status)"
        if case .string(let message) = message { text += ": \(message.prefix(200))" }
        // What is somebody else's is no question of the login.
        if status == 403 { return SyncFailure(.remoteError, text) }
        let told = RemoteResponse(status: Int(clamping: status), headers: response.headers)
        guard let failure = told.failure else { return SyncFailure(.remoteError, text) }
        return SyncFailure(
            failure.code, text, hint: failure.hint, retryAfter: failure.retryAfter)
    }

    /// The entries of a dashboard that show a video, and those of which the client knew nothing to make.
    ///
    /// As the client of 2014: notices of three kinds are left out, so is what has no frame, and a frame
    /// of nobody unless it is recommended.
    static func frame(ofEntry entry: JSONElement) throws(IngestRefusal) -> JSONElement? {
        let action = try entry.integer("action").value ?? 0
        guard !unsupportedActions.contains(action),
            let frame = try entry.object("frame").value
        else { return nil }
        let hasCreator = try frame.object("creator").value != nil
        return hasCreator || creatorlessActions.contains(action) ? frame : nil
    }

    /// Genius, watch and comment.
    private static let unsupportedActions: Set<Int64> = [3, 9, 10]
    /// Recommendations by the video graph and by Mortar.
    private static let creatorlessActions: Set<Int64> = [31, 33]
}

/// A frame of an answer, and what it says.
struct ShelbyV1Frame {
    let id: ShelbyV1ID
    /// The video's key.
    let video: String
    let title: String?
    let creator: String?
    let nickname: String?
    let origin: String?
    /// The roll on which it stands.
    let roll: String?
    let conversation: String?
    let messages: [ShelbyV1Message]
    /// Whether it is the copy that somebody's like has made.
    let isLight: Bool
    /// Who likes it; nil where the answer does not say.
    let upvoters: [String]?
    /// When it was first and last told here that the video cannot be played, in Unix milliseconds.
    let unplayableAt: (first: Int64?, last: Int64?)
    /// Messages that could not be read.
    private(set) var refused: [IngestRefusal] = []

    /// Reads a frame; nil where it shows no video, as whatever is joined may be null.
    init?(_ frame: JSONElement) throws(IngestRefusal) {
        id = try frame.shelbyID("id")
        guard let video = try frame.object("video").value else { return nil }
        self.video = try video.shelbyV1Video().text
        title = try video.text("title").value
        let times: ClosedRange<Int64> = 0...Timestamps.recorded.upperBound - 1
        unplayableAt = (
            try video.integer("first_unplayable_at", in: times).value,
            try video.integer("last_unplayable_at", in: times).value
        )
        let owner = try frame.object("creator").value
        let ownerID = try owner?.text("id").value
        creator = try frame.text("creator_id").value ?? ownerID
        nickname = try owner?.text("nickname").value
        let talk = try frame.object("conversation").value
        let talkID = try talk?.text("id").value
        conversation = try frame.text("conversation_id").value ?? talkID
        var refused: [IngestRefusal] = []
        messages =
            try talk.map { (talk) throws(IngestRefusal) in
                try ShelbyV1Message.list(talk, &refused)
            } ?? []
        self.refused = refused
        let home = try frame.object("roll").value
        let homeID = try home?.text("id").value
        roll = try frame.text("roll_id").value ?? homeID
        origin = try home?.text("origin_network").value ?? messages.first?.origin
        isLight = try frame.integer("frame_type").value == 1
        upvoters = try frame.texts("upvoters").value
    }

    /// Whether it is the copy that a like of this user has made.
    func isLike(of user: String) -> Bool { isLight && creator == user }

    /// - Parameter user: whose likes count; nil where nobody is logged in.
    func broadcast(for user: String?) -> BroadcastReceived {
        var sighting = BroadcastReceived()
        sighting.broadcast = id.text
        sighting.video = video
        if let title { sighting.title = title }
        if let nickname { sighting.sharer = nickname }
        if let origin { sighting.origin = origin }
        // What the sharer says is the first that is said of the frame.
        if let first = messages.first, first.user == creator { sighting.comment = first.text }
        sighting.createdAt = Google_Protobuf_Timestamp(milliseconds: id.milliseconds)
        if let upvoters, let user { sighting.liked = upvoters.contains(user) }
        return sighting
    }

    /// The frame, or the entry that shows it, on a list.
    func listing(as entry: ShelbyV1ID? = nil, on list: String) -> VideoListed {
        var sighting = VideoListed()
        sighting.list = list
        sighting.entry = (entry ?? id).text
        sighting.video = video
        sighting.listedAt = Google_Protobuf_Timestamp(
            milliseconds: (entry ?? id).milliseconds)
        return sighting
    }

    /// - Parameter user: whose likes count; nil where nobody is logged in.
    func sighting(for user: String?) -> FrameObserved {
        var sighting = FrameObserved()
        sighting.frame = id.text
        sighting.video = video
        if let conversation { sighting.conversation = conversation }
        if let creator { sighting.creator = creator }
        if let title { sighting.title = title }
        if let upvoters, let user { sighting.liked = upvoters.contains(user) }
        if let user, isLike(of: user) { sighting.likedCopy = true }
        // 0 stands for never.
        if let first = unplayableAt.first, first > 0 {
            sighting.firstUnplayableAt = Google_Protobuf_Timestamp(milliseconds: first)
        }
        if let last = unplayableAt.last, last > 0 {
            sighting.lastUnplayableAt = Google_Protobuf_Timestamp(milliseconds: last)
        }
        return sighting
    }
}

/// A message of a conversation.
struct ShelbyV1Message {
    let id: ShelbyV1ID
    let user: String?
    let nickname: String?
    let origin: String?
    let text: String

    /// The messages of a conversation that say something, in its order.
    static func list(
        _ conversation: JSONElement, _ refused: inout [IngestRefusal]
    ) throws(IngestRefusal) -> [ShelbyV1Message] {
        var messages: [ShelbyV1Message] = []
        for (index, value) in (try conversation.list("messages") ?? []).enumerated() {
            do throws(IngestRefusal) {
                let message = try ShelbyV1Message(
                    JSONElement(value, at: "\(conversation.path).messages[\(index)]"))
                if !message.text.isEmpty { messages.append(message) }
            } catch {
                refused.append(error)
            }
        }
        return messages
    }

    private init(_ message: JSONElement) throws(IngestRefusal) {
        id = try message.shelbyID("id")
        user = try message.text("user_id").value
        nickname = try message.text("nickname").value
        origin = try message.text("origin_network").value
        text = try message.text("text").value ?? ""
    }

    /// - Parameter intent: the comment of this user that it came of.
    func sighting(of video: String, postedAs intent: EventID? = nil) -> CommentObserved {
        var sighting = CommentObserved()
        sighting.comment = ShelbyV1Message.prefix + id.text
        sighting.video = video
        sighting.text = text
        if let nickname { sighting.author = nickname }
        sighting.createdAt = Google_Protobuf_Timestamp(milliseconds: id.milliseconds)
        if let intent { sighting.postedAs = intent.description }
        return sighting
    }

    /// What stands in front of a message's id where comments of all systems meet.
    static let prefix = "shelby:"
}

extension JSONElement {
    /// An id, which must be there.
    func shelbyID(_ name: String) throws(IngestRefusal) -> ShelbyV1ID {
        let text = try identifier(name)
        guard let id = ShelbyV1ID(text) else {
            throw IngestRefusal(
                "\(path).\(name)", .invalidPayload, "\"\(text.prefix(40))\" is no id of Shelby")
        }
        return id
    }

    fileprivate func shelbyV1Video() throws(IngestRefusal) -> VideoKey {
        guard let provider = try text("provider_name").value else {
            throw IngestRefusal("\(path).provider_name", .invalidPayload, "is missing")
        }
        return try videoKey(provider, id: "provider_id")
    }
}
