internal import Foundation
internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// The requests of BirdTube's API: `POST` requests with a JSON body.
enum BirdTubeRequest {
    static let registerPath = "/video/register"
    static let viewPath = "/video/view"
    static let messagesPath = "/channel/messages"
    static let sendPath = "/channel/send"

    static func signIn(_ secrets: RemoteSecrets) -> RemoteRequest {
        post("/signin", SignIn(email: secrets.user, password: secrets.password))
    }

    static func signUp(_ secrets: RemoteSecrets) -> RemoteRequest {
        post(
            "/signup",
            SignIn(
                email: secrets.user, password: secrets.password,
                nickname: Nickname.standing(for: secrets.user)))
    }

    /// Returns the request for the videos sorted by age, starting at a row.
    static func list(offset: Int64) -> RemoteRequest {
        post("/video/list", List(offset: offset, limit: BirdTubeConnector.rowsPerPage))
    }

    static func register(_ submission: VideoSubmitted, _ key: VideoKey) -> RemoteRequest {
        let url =
            submission.url.isEmpty ? "https://www.youtube.com/watch?v=\(key.id)" : submission.url
        return post(
            registerPath,
            Register(
                video_id: key.id, url: url, title: submission.title,
                thumbnail: submission.thumbnail))
    }

    static func view(_ key: VideoKey) -> RemoteRequest {
        post(viewPath, View(video_id: key.id))
    }

    /// Returns the request for a chat's messages before a given time.
    static func messages(of channel: String, before timestamp: Int64) -> RemoteRequest {
        post(
            messagesPath,
            Messages(
                channel_url: channel, timestamp: timestamp,
                limit: BirdTubeConnector.messagesPerPage))
    }

    /// Returns the parameters of a request created by `messages`; nil for other requests.
    static func chat(
        askedBy request: RemoteRequest?
    ) -> (channel: String, before: Int64)? {
        guard let request, request.path == messagesPath, case .json(let bytes) = request.body,
            let document = try? JSONParser.parse(bytes, bytesMax: bytes.count),
            let element = try? JSONElement(document, at: "$"),
            let channel = try? element.text("channel_url").value,
            let before = try? element.integer("timestamp").value
        else { return nil }
        return (channel, before)
    }

    static func send(
        _ message: ChatMessagePosted, named name: String, to channel: String
    ) -> RemoteRequest {
        let file = File(
            url: message.file.url, name: message.file.name, type: message.file.type,
            size: message.file.bytes)
        return post(
            sendPath,
            Send(
                channel_url: channel, temp_id: name, text: message.hasText ? message.text : nil,
                file: message.hasFile ? file : nil))
    }

    /// Adds the session to a request that requires one, as the first member of its body.
    ///
    /// Planned requests contain no session, because they may be stored and displayed.
    static func add(session: String, to request: inout RemoteRequest) {
        guard [registerPath, sendPath].contains(request.path), case .json(let body) = request.body
        else { return }
        let member = Array("{\"session\":".utf8) + encoded(session) + [UInt8(ascii: ",")]
        request.body = .json(member + body.dropFirst())
    }

    private static func post(_ path: String, _ body: some Encodable) -> RemoteRequest {
        RemoteRequest("POST", path, body: .json(encoded(body)))
    }

    private static func encoded(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let bytes = try? encoder.encode(value) else {
            preconditionFailure("strings and integers can always be encoded as JSON")
        }
        return Array(bytes)
    }

    // MARK: - Bodies, with the API's names

    private struct SignIn: Encodable {
        var email: String
        var password: String
        var nickname: String?
        /// An empty token means no push notifications.
        var device_token = ""
        var device_type = "WEB"
    }

    private struct List: Encodable {
        var offset: Int64
        var limit: Int64
        /// The sort order: 2 sorts by age, 1 by views.
        var order_by = 2
    }

    private struct Register: Encodable {
        var video_id: String
        var url: String
        var title: String
        var thumbnail: String
    }

    private struct View: Encodable {
        var video_id: String
    }

    private struct Messages: Encodable {
        var channel_url: String
        var timestamp: Int64
        var limit: Int64
        var direction = "previous"
    }

    private struct Send: Encodable {
        var channel_url: String
        var temp_id: String
        var text: String?
        var file: File?
    }

    private struct File: Encodable {
        var url: String
        var name: String
        var type: String
        var size: UInt64
    }
}
