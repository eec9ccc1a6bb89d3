internal import SwiftProtobuf
internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// Converts the objects of BirdTube's API, including chat messages, to observations.
enum BirdTubeDocuments {
    /// `/video/list`: `{"result":"success","video_list":[…]}`.
    static func videos(
        _ document: JSONValue, _ context: IngestContext, _ result: inout IngestResult
    ) {
        read(document, "video_list", &result) { value, path, result in
            addVideo(value, at: path, context, &result)
        }
    }

    /// A list of chat messages, or a response from `/channel/messages` that contains such a list.
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

    /// Reads the list in a response; records an error that the remote reports as a refusal with the
    /// path `$`.
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

    /// Adds a row of the list and returns its observation; nil if the row cannot be read.
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

    /// Reads a row of the list; the row identifies the owner only by a number.
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

    /// Reads a chat message, whose members are named as in SendBird's SDK, in either spelling:
    /// `tempId` or `temp_id`.
    ///
    /// | member | contents |
    /// |---|---|
    /// | `id` | the message's number; also called `messageId` |
    /// | `timestamp` | the time of the message, in Unix milliseconds |
    /// | `type` | `text`, `file`, `system` or `broadcast`; inferred from the other members if missing |
    /// | `text` or `file` | the content; a file has `url`, `name`, `type` and `size` |
    /// | `sender` | `id`, `name`, `image`; missing if there is no sender |
    /// | `tempId` | the id that the sender's device chose |
    /// | `isOpMessage`, `isGuestMessage`, `isBlocked` | false if missing |
    ///
    /// Other members, such as `data`, are ignored.
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
    /// The smallest number that is interpreted as milliseconds.
    ///
    /// This number of milliseconds is a time in 1973; the same number of seconds would be a time in
    /// the year 5138.
    private static let millisecondsMin = 100_000_000_000.0

    /// Returns a member that is a time in an undocumented format, as Unix milliseconds.
    ///
    /// A number is interpreted as seconds or milliseconds, depending on its size: a site from 2015
    /// has no videos from 1970 or from 5138. A string is in RFC 3339 format, or in Python's format,
    /// which omits the zone and means UTC.
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
        let shown: FailureText =
            switch value {
            case .string(let text): "\"\(text.prefix(40))\""
            case .number(let digits): "\(digits.prefix(40))"
            default: "\(own: value.kind)"
            }
        throw IngestRefusal(
            "\(path).\(name)", .invalidTime,
            "\(shown) is not a time in 1970 or later, such as 2015-01-01T00:00:00Z or a number of"
                + " seconds or milliseconds after 1970")
    }

    /// Returns the spelling of a name that this object uses, such as `tempId` or `temp_id`.
    fileprivate func spelled(_ name: String) -> String {
        guard !has(name) else { return name }
        let snake = name.map { $0.isUppercase ? "_\($0.lowercased())" : "\($0)" }.joined()
        return has(snake) ? snake : name
    }

    /// Returns whether a member is present and not an empty string.
    fileprivate func isSaid(_ name: String) throws(IngestRefusal) -> Bool {
        switch any(name) {
        case .absent, .null: false
        case .value(.string(let text)): !text.isEmpty
        case .value: true
        }
    }
}
