internal import SwiftProtobuf
internal import TapedeckModel
internal import TapedeckVideo

/// The shapes of BirdTube's API, and of chat messages, as sightings.
enum BirdTubeDocuments {
    /// `/video/list`: `{"result":"success","video_list":[…]}`.
    static func videos(
        _ document: JSONValue, _ context: IngestContext, _ result: inout IngestResult
    ) {
        read(document, "video_list", &result) { value, path, result in
            addVideo(value, at: path, context, &result)
        }
    }

    /// A list of messages of a chat, or the answer of `/channel/messages` that holds one.
    static func messages(
        _ document: JSONValue, _ context: IngestContext, _ result: inout IngestResult
    ) {
        if case .array(let list) = document {
            for (index, value) in list.enumerated() {
                addMessage(value, at: "$[\(index)]", context, &result)
            }
            return
        }
        read(document, "messages", &result) { value, path, result in
            addMessage(value, at: path, context, &result)
        }
    }

    /// Reads what a list in an answer holds; an error of the remote is a refusal at `$`.
    private static func read(
        _ document: JSONValue, _ name: String, _ result: inout IngestResult,
        _ body: (JSONValue, String, inout IngestResult) -> Void
    ) {
        do throws(IngestRefusal) {
            let element = try JSONElement(document, at: "$")
            try BirdTubeAnswer.check(element)
            guard let list = try element.list(name) else {
                throw IngestRefusal("$.\(name)", .invalidPayload, "is missing")
            }
            for (index, value) in list.enumerated() {
                body(value, "$.\(name)[\(index)]", &result)
            }
        } catch {
            result.refuse(error)
        }
    }

    /// Adds a row of the list; gives its sighting where it can be read.
    @discardableResult
    static func addVideo(
        _ value: JSONValue, at path: String, _ context: IngestContext,
        _ result: inout IngestResult
    ) -> SubmissionObserved? {
        do throws(IngestRefusal) {
            let video = try video(JSONElement(value, at: path))
            context.propose(video, at: path, in: &result)
            return video
        } catch {
            result.refuse(error)
            return nil
        }
    }

    static func addMessage(
        _ value: JSONValue, at path: String, _ context: IngestContext,
        _ result: inout IngestResult
    ) {
        do throws(IngestRefusal) {
            let message = try message(JSONElement(value, at: path), of: context.video ?? "")
            context.propose(message, at: path, in: &result)
        } catch {
            result.refuse(error)
        }
    }

    /// A row of the list; an owner is told by its number alone.
    static func video(_ element: JSONElement) throws(IngestRefusal) -> SubmissionObserved {
        var video = SubmissionObserved()
        video.video = try element.videoKey("youtube", id: "video_id").text
        if let value = try element.url("url").value { video.url = value }
        if let value = try element.text("title").value { video.title = value }
        if let value = try element.url("thumbnail").value { video.thumbnail = value }
        if element.any("owner").value != nil { video.owner = try element.identifier("owner") }
        if let value = try element.moment("created_time") {
            video.createdAt = Google_Protobuf_Timestamp(milliseconds: value)
        }
        if let value = try element.integer("viewer", in: 0 ... .max).value {
            video.views = UInt64(value)
        }
        if let value = try element.url("channel_url").value { video.channel = value }
        return video
    }

    /// A message of a chat, in the names of SendBird's SDK, be they written `tempId` or `temp_id`.
    ///
    /// | member | what it is |
    /// |---|---|
    /// | `id` | the message's number, also `messageId` |
    /// | `timestamp` | when it was said, in Unix milliseconds |
    /// | `type` | `text`, `file`, `system` or `broadcast`; else it is told by what is there |
    /// | `text` or `file` | what is said; a file has `url`, `name`, `type` and `size` |
    /// | `sender` | `id`, `name`, `image`; none where nobody says it |
    /// | `tempId` | what the sender's device called it |
    /// | `isOpMessage`, `isGuestMessage`, `isBlocked` | false where nothing is said |
    ///
    /// What else is there, such as `data`, is left out.
    static func message(
        _ element: JSONElement, of video: String
    ) throws(IngestRefusal) -> ChatMessageObserved {
        var message = ChatMessageObserved()
        message.video = video
        message.message = try element.id(element.has("id") ? "id" : element.spelled("messageId"))
        let range = Timestamps.recorded.lowerBound...Timestamps.recorded.upperBound - 1
        guard let time = try element.integer("timestamp", in: range).value else {
            throw IngestRefusal("\(element.path).timestamp", .invalidPayload, "is missing")
        }
        message.at = Google_Protobuf_Timestamp(milliseconds: time)
        if let value = try element.text("text").value, !value.isEmpty { message.text = value }
        if let file = try element.object("file").value {
            message.file = try ChatFile(file)
        }
        message.kind = try element.text("type").value ?? (message.hasFile ? "file" : "text")
        if let sender = try element.object("sender").value {
            if try sender.isSaid("id") { message.sender = try sender.identifier("id") }
            if let value = try sender.text("name").value { message.senderName = value }
            if let value = try sender.url("image").value { message.senderImage = value }
        }
        let tempID = element.spelled("tempId")
        if try element.isSaid(tempID) { message.tempID = try element.identifier(tempID) }
        func flag(_ name: String) throws(IngestRefusal) -> Bool {
            try element.flag(element.spelled(name)).value ?? false
        }
        message.isOperator = try flag("isOpMessage")
        message.isGuest = try flag("isGuestMessage")
        message.isBlocked = try flag("isBlocked")
        return message
    }
}

extension ChatFile {
    fileprivate init(_ element: JSONElement) throws(IngestRefusal) {
        self.init()
        guard let url = try element.url("url").value else {
            throw IngestRefusal("\(element.path).url", .invalidPayload, "is missing")
        }
        self.url = url
        name = try element.text("name").value ?? ""
        type = try element.text("type").value ?? ""
        bytes = UInt64(try element.integer("size", in: 0 ... .max).value ?? 0)
    }
}

extension JSONElement {
    /// The seconds of the year 5138, the milliseconds of 1973: a number from here on counts milliseconds.
    private static let millisecondsMin = 100_000_000_000.0

    /// A member that is a moment in a form that nobody has written down, as Unix milliseconds.
    ///
    /// A number counts seconds or milliseconds, by its size: a site of 2015 has no videos of 1970, and none
    /// of the year 5138. A text is RFC 3339, or what Python prints, which leaves the zone out and means UTC.
    func moment(_ name: String) throws(IngestRefusal) -> Int64? {
        guard let value = any(name).value else { return nil }
        if case .string(let text) = value {
            guard !text.isEmpty else { return nil }
            if let time = Timestamps.milliseconds(text) ?? Timestamps.milliseconds(text + "Z"),
                Timestamps.recorded.contains(time)
            {
                return time
            }
        } else if let number = value.double, number >= 0 {
            let isSeconds = number < JSONElement.millisecondsMin
            let time = (isSeconds ? number * 1_000 : number).rounded()
            if time < Double(Timestamps.recorded.upperBound) { return Int64(time) }
        }
        throw IngestRefusal("\(path).\(name)", .invalidTime, "is not a time from 1970 on")
    }

    /// A name as it stands here: `tempId`, or `temp_id`.
    fileprivate func spelled(_ name: String) -> String {
        guard !has(name) else { return name }
        let snake = name.map { $0.isUppercase ? "_\($0.lowercased())" : "\($0)" }.joined()
        return has(snake) ? snake : name
    }

    /// Whether a member is there that is no empty text.
    fileprivate func isSaid(_ name: String) throws(IngestRefusal) -> Bool {
        switch any(name) {
        case .absent, .null: false
        case .value(.string(let text)): !text.isEmpty
        case .value: true
        }
    }
}
