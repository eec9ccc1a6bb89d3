internal import SwiftProtobuf
internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// Parses responses from Shelby's 2012–2014 API.
enum ShelbyV1Documents {
    /// Returns the result in a response's envelope.
    ///
    /// The status in the body is used, not the HTTP status. For example, the response to a request
    /// for the dashboard without a login has the HTTP status 404 and contains the status 401.
    static func result(_ response: RemoteResponse) throws(SyncFailure) -> JSONValue {
        guard case .object(let members) = try ShelbyDocuments.document(response),
            let status = members["status"]?.int64
        else {
            throw response.failure
                ?? .unexpected("Shelby", expected: "a JSON object with status and result")
        }
        guard (200..<300).contains(status) else {
            throw failure(status, members["message"], response)
        }
        if let failure = response.failure { throw failure }
        guard let result = members["result"] else {
            throw .unexpected("Shelby", expected: "a JSON object with status and result")
        }
        return result
    }

    private static func failure(
        _ status: Int64, _ message: JSONValue?, _ response: RemoteResponse
    ) -> SyncFailure {
        var text: FailureText = "Shelby returned status \(status)"
        switch message {
        case .string(let message): text = "\(text): \(message.prefix(200))"
        case .object(let members):
            if case .string(let message) = members["error_message"] {
                text = "\(text): \(message.prefix(200))"
            }
        default: break
        }
        // A 403 concerns another user's object, not the login.
        if status == 403 { return SyncFailure(.remoteError, text) }
        let told = RemoteResponse(status: Int(clamping: status), headers: response.headers)
        guard var failure = told.failure else { return SyncFailure(.remoteError, text) }
        failure.text = text
        return failure
    }

    /// Returns the frame of a dashboard entry; nil if the entry is skipped.
    ///
    /// Like the 2014 client, this method skips three kinds of notices and all entries without a
    /// frame. The method also skips entries whose frame has no creator, unless the entries are
    /// recommendations.
    static func frame(ofEntry entry: JSONElement) throws(IngestRefusal) -> JSONElement? {
        let action = try entry.integer("action").value ?? 0
        guard !unsupportedActions.contains(action),
            let frame = try entry.object("frame").value
        else { return nil }
        let hasCreator = try frame.object("creator").value != nil
        return hasCreator || creatorlessActions.contains(action) ? frame : nil
    }

    /// The numbers of the skipped actions: genius, watch and comment.
    private static let unsupportedActions: Set<Int64> = [3, 9, 10]
    /// The numbers of the actions whose frames may lack a creator: recommendations from the video
    /// graph and from Mortar.
    private static let creatorlessActions: Set<Int64> = [31, 33]
}

/// A frame in a response.
struct ShelbyV1Frame {
    let id: ShelbyV1ID
    /// The video's key.
    let video: String
    let title: String?
    /// The description of the video in the response; nil if there is none.
    let description: VideoDescribed?
    let creator: String?
    let nickname: String?
    /// The URL of the creator's picture.
    let picture: String?
    let origin: String?
    /// The id of the roll that contains the frame.
    let roll: String?
    let conversation: String?
    let messages: [ShelbyV1Message]
    /// Whether the response contains the messages of the conversation.
    let hasMessages: Bool
    /// Whether the frame is a copy created by a like.
    let isLight: Bool
    /// The ids of the users who like the frame; nil if the response does not list them.
    let upvoters: [String]?
    /// The first and last time at which the video was reported as unplayable, in Unix milliseconds.
    let unplayableAt: (first: Int64?, last: Int64?)
    /// The messages that could not be read.
    private(set) var refused: [IngestRefusal] = []

    /// Reads a frame; nil if its video is null, as any embedded object may be.
    init?(_ frame: JSONElement) throws(IngestRefusal) {
        id = try frame.shelbyID("id")
        guard let video = try frame.object("video").value else { return nil }
        self.video = try video.shelbyV1Video().text
        title = try video.text("title").value
        description = try video.description(of: self.video)
        let times: ClosedRange<Int64> = 0...Timestamps.recorded.upperBound - 1
        unplayableAt = (
            try video.integer("first_unplayable_at", in: times).value,
            try video.integer("last_unplayable_at", in: times).value
        )
        let owner = try frame.object("creator").value
        let ownerID = try owner?.text("id").value
        creator = try frame.text("creator_id").value ?? ownerID
        nickname = try owner?.text("nickname").value
        picture = owner?.webURL("user_image")
        let talk = try frame.object("conversation").value
        let talkID = try talk?.text("id").value
        conversation = try frame.text("conversation_id").value ?? talkID
        var refused: [IngestRefusal] = []
        messages =
            try talk.map { (talk) throws(IngestRefusal) in
                try ShelbyV1Message.list(talk, &refused)
            } ?? []
        hasMessages =
            try talk.map { (talk) throws(IngestRefusal) in
                try talk.list("messages") != nil
            } ?? false
        self.refused = refused
        let home = try frame.object("roll").value
        let homeID = try home?.text("id").value
        roll = try frame.text("roll_id").value ?? homeID
        origin = try home?.text("origin_network").value ?? messages.first?.origin
        isLight = try frame.integer("frame_type").value == 1
        upvoters = try frame.texts("upvoters").value
    }

    /// Returns whether the frame is a copy created by a like of this user.
    func isLike(of user: String) -> Bool { isLight && creator == user }

    /// Returns an observation of the frame as a broadcast.
    ///
    /// - Parameter user: The user whose likes are reported; nil if no user is logged in.
    func broadcast(for user: String?) -> BroadcastReceived {
        var observation = BroadcastReceived()
        observation.broadcast = id.text
        observation.video = video
        if let title { observation.title = title }
        if let nickname { observation.sharer = nickname }
        if let origin { observation.origin = origin }
        if let picture { observation.sharerImageURL = picture }
        // The sharer's comment is the first message, if the sharer wrote it.
        if let first = messages.first, first.user == creator { observation.message = first.comment }
        observation.createdAt = Google_Protobuf_Timestamp(milliseconds: id.milliseconds)
        if let upvoters, let user { observation.liked = upvoters.contains(user) }
        return observation
    }

    /// Returns the observation that a list contains the frame's video, with the id of `entry` or,
    /// if `entry` is nil, of the frame.
    func listing(as entry: ShelbyV1ID? = nil, on list: String) -> VideoListed {
        var observation = VideoListed()
        observation.list = list
        observation.entry = (entry ?? id).text
        observation.video = video
        observation.listedAt = Google_Protobuf_Timestamp(
            milliseconds: (entry ?? id).milliseconds)
        return observation
    }

    /// Returns an observation of the frame.
    ///
    /// - Parameter user: The user whose likes are reported; nil if no user is logged in.
    func observation(for user: String?) -> FrameObserved {
        var observation = FrameObserved()
        observation.frame = id.text
        observation.video = video
        if let conversation { observation.conversation = conversation }
        if let creator { observation.creator = creator }
        if let title { observation.title = title }
        if let upvoters, let user { observation.liked = upvoters.contains(user) }
        if let user, isLike(of: user) { observation.likedCopy = true }
        // 0 means never.
        if let first = unplayableAt.first, first > 0 {
            observation.firstUnplayableAt = Google_Protobuf_Timestamp(milliseconds: first)
        }
        if let last = unplayableAt.last, last > 0 {
            observation.lastUnplayableAt = Google_Protobuf_Timestamp(milliseconds: last)
        }
        return observation
    }
}

/// A message in a conversation.
struct ShelbyV1Message {
    let id: ShelbyV1ID
    let user: String?
    let nickname: String?
    let origin: String?
    let text: String

    /// Returns the messages of a conversation in order; messages without text are left out.
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

    /// Returns an observation of the message.
    ///
    /// - Parameter intent: The event of the user's comment that created the message; nil if there
    ///   is none.
    func observation(
        of video: String, in conversation: String?, postedAs intent: EventID? = nil
    ) -> CommentObserved {
        var observation = CommentObserved()
        if let conversation { observation.conversation = conversation }
        observation.comment = comment
        observation.video = video
        observation.text = text
        if let nickname { observation.author = nickname }
        observation.createdAt = Google_Protobuf_Timestamp(milliseconds: id.milliseconds)
        if let intent { observation.postedAs = intent.description }
        return observation
    }

    /// The id of the message, with a prefix that makes it unique among the comments of all systems.
    var comment: String { ShelbyV1Message.prefix + id.text }

    /// The prefix that identifies a Shelby message among the comments of all systems.
    static let prefix = "shelby:"
}

extension JSONElement {
    /// Returns a required id.
    func shelbyID(_ name: String) throws(IngestRefusal) -> ShelbyV1ID {
        let text = try identifier(name)
        guard let id = ShelbyV1ID(text) else {
            throw IngestRefusal(
                "\(path).\(name)", .invalidPayload, "\"\(text.prefix(40))\" is not a Shelby id")
        }
        return id
    }

    /// Returns an observation of the roll that this element describes.
    func shelbyV1Roll() throws(IngestRefusal) -> ListObserved {
        var list = ListObserved()
        list.list = VideoGroup.roll(try shelbyID("id").text)
        if let title = try text("title").value { list.title = title }
        if let owner = try text("creator_id").value { list.owner = owner }
        if let name = try text("creator_nickname").value { list.ownerName = name }
        if let picture = webURL("thumbnail_url") { list.thumbnailURL = picture }
        return list
    }

    fileprivate func shelbyV1Video() throws(IngestRefusal) -> VideoKey {
        guard let provider = try text("provider_name").value else {
            throw IngestRefusal("\(path).provider_name", .invalidPayload, "is missing")
        }
        return try videoKey(provider, id: "provider_id")
    }
}
