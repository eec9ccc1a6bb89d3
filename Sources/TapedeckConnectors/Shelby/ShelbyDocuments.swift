internal import SwiftProtobuf
internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// Converts responses from Shelby's 2012 API to observations.
enum ShelbyDocuments {
    /// Parses the JSON of a response from either of Shelby's APIs.
    static func document(_ response: RemoteResponse) throws(SyncFailure) -> JSONValue {
        do {
            return try JSONParser.parse(
                response.body, bytesMax: IngestResource.documentBytesMax)
        } catch {
            // Without a JSON body, only the status is available. The parser's errors contain no
            // text from the body.
            throw response.failure
                ?? .unexpected("Shelby", expected: "JSON", "\(own: error.message)")
        }
    }

    /// `/v2/channels/{id}/broadcasts.json`: a list of broadcasts, or a single one.
    ///
    /// An object with `err` is the remote's error response; its HTTP status is meaningless.
    static func broadcasts(
        _ document: JSONValue, _ context: IngestContext, _ result: inout IngestResult
    ) {
        switch document {
        case .array(let list):
            for (index, value) in list.enumerated() {
                add(value, at: "$[\(index)]", context, &result)
            }
        case .object(let members):
            if let error = members["err"] {
                var text: FailureText = "the remote returned an error"
                if case .string(let message) = error { text = "\(text): \(message.prefix(200))" }
                result.refuse(IngestRefusal("$", .remoteError, text))
            } else {
                add(document, at: "$", context, &result)
            }
        case .null:
            result.refuse(IngestRefusal("$", .remoteError, "the remote returned null"))
        default:
            result.refuse(
                IngestRefusal("$", .invalidPayload, "the document is \(own: document.kind)"))
        }
    }

    private static func add(
        _ value: JSONValue, at path: String, _ context: IngestContext,
        _ result: inout IngestResult
    ) {
        do throws(IngestRefusal) {
            let element = try JSONElement(value, at: path)
            let broadcast = try BroadcastReceived(shelby: element)
            context.propose(broadcast, at: path, in: &result)
            if let description = try element.description(of: broadcast.video, in: "video_") {
                // Broadcasts of one video may describe the video differently. A broadcast without a
                // time is treated as the oldest.
                context.propose(
                    description, reportedAt: broadcast.createdAt.milliseconds, at: path,
                    in: &result)
            }
        } catch {
            result.refuse(error)
        }
    }
}

extension BroadcastReceived {
    /// Reads a broadcast; a null is treated as a missing field, because a null must never clear a
    /// known value.
    init(shelby element: JSONElement) throws(IngestRefusal) {
        self.init()
        broadcast = try element.identifier(element.has("_id") ? "_id" : "id")
        video = try element.shelbyVideo().text
        if let value = try element.text("video_title").value { title = value }
        if let value = try element.text("video_originator_user_nickname").value { sharer = value }
        if let value = try element.text("video_origin").value { origin = value }
        if let value = element.webURL("video_originator_user_image") { sharerImageURL = value }
        if let value = element.webURL("shortened_permalink") { shortLink = value }
        if let value = try element.text("description").value { comment = value }
        if let value = try element.text("channel_id").value { channel = value }
        if let value = try element.time("created_at").value {
            createdAt = Google_Protobuf_Timestamp(milliseconds: value)
        }
        if let value = try element.time("updated_at").value {
            updatedAt = Google_Protobuf_Timestamp(milliseconds: value)
        }
        if let value = try element.flag("liked_by_owner").value { liked = value }
        if let value = try element.flag("owner_watch_later").value { watchLater = value }
        if let value = try element.flag("watched_by_owner").value { watched = value }
    }
}

extension JSONElement {
    /// Returns the description of a video in the element; nil if there is none.
    ///
    /// - Parameter prefix: The prefix of the field names.
    func description(
        of video: String, in prefix: String = ""
    ) throws(IngestRefusal) -> VideoDescribed? {
        var observation = VideoDescribed()
        observation.video = video
        if let value = try filledText(prefix + "title") { observation.title = value }
        if let value = webURL(prefix + "thumbnail_url") { observation.thumbnailURL = value }
        if let value = try? filledText(prefix + "description") { observation.description_p = value }
        if let value = duration(prefix + "duration") { observation.durationSeconds = value }
        guard
            observation.hasTitle || observation.hasThumbnailURL || observation.hasDescription_p
                || observation.hasDurationSeconds
        else { return nil }
        return observation
    }

    /// Returns a string; nil if it is missing or empty.
    private func filledText(_ name: String) throws(IngestRefusal) -> String? {
        try text(name).value.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns an absolute HTTP URL; nil for anything else, because old documents contain remnants
    /// of URLs.
    func webURL(_ name: String) -> String? {
        guard let text = try? url(name).value, FieldChecks.isWebURL(text) else { return nil }
        return text
    }

    /// Returns a duration, which the server writes as a number or as a string of digits; nil if it
    /// is missing, 0 or anything else.
    private func duration(_ name: String) -> Double? {
        let digits: String
        switch any(name) {
        case .value(.number(let number)): digits = number
        case .value(.string(let text)): digits = text
        default: return nil
        }
        guard let seconds = Double(digits), seconds > 0, seconds <= FieldLimits.secondsMax else {
            return nil
        }
        return seconds
    }

    /// Returns a required id, which may be a string or a number.
    func identifier(_ name: String) throws(IngestRefusal) -> String {
        if case .value(.number) = any(name), let number = try integer(name).value {
            return String(number)
        }
        guard let text = try text(name).value else {
            throw IngestRefusal("\(path).\(name)", .invalidPayload, "is missing")
        }
        do throws(ModelError) {
            try FieldChecks.id(text, name)
        } catch {
            throw IngestRefusal("\(path).\(name)", error)
        }
        return text
    }

    /// Returns the video of a broadcast; older broadcasts name only the player.
    fileprivate func shelbyVideo() throws(IngestRefusal) -> VideoKey {
        let named = try text("video_provider_name").value
        let player = try text("video_player").value
        guard let provider = named ?? player else {
            throw IngestRefusal("\(path).video_provider_name", .invalidPayload, "is missing")
        }
        return try videoKey(provider, id: "video_id_at_provider")
    }

    /// Returns the key of a video hosted by `provider`; the field `name` contains the video's id.
    func videoKey(_ provider: String, id name: String) throws(IngestRefusal) -> VideoKey {
        let id = try identifier(name)
        do throws(ModelError) {
            return try VideoKey(provider: provider, id: id)
        } catch {
            throw IngestRefusal("\(path).\(name)", error)
        }
    }
}
