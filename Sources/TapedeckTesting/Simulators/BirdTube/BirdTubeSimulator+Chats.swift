/// The chat bridge, whose routes were designed for Tapedeck.
extension BirdTubeSimulator {
    private static let noChannel = BirdTubeSimulator.error("Channel not found.")

    mutating func messages(_ request: SimulatedRequest) throws(OutsideTables) -> SimulatedResponse {
        let fields = try SimulatedObject(
            request, required: ["channel_url", "timestamp", "limit", "direction"])
        let channel = try fields.text("channel_url")
        let (time, limit) = (try fields.number("timestamp"), try fields.number("limit"))
        let direction = try fields.text("direction")
        guard ["previous", "next"].contains(direction), let limit = Int(exactly: limit), limit > 0
        else { throw OutsideTables("direction is not previous or next, or limit is not positive") }
        guard world.video(ofChannel: channel) != nil else { return Self.noChannel }
        let isPrevious = direction == "previous"
        let rows = world.messages.filter {
            $0.channel == channel && (isPrevious ? $0.at < time : $0.at > time)
        }
        let sorted = rows.sorted {
            isPrevious ? ($0.at, $0.id) > ($1.at, $1.id) : ($0.at, $0.id) < ($1.at, $1.id)
        }
        // A page never ends between messages with the same time.
        let last = sorted.prefix(limit).last?.at
        let page = sorted.prefix(limit) + sorted.dropFirst(limit).prefix { $0.at == last }
        return Self.success(["messages": .array(page.map { world.document($0) })])
    }

    mutating func send(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let fields = try SimulatedObject(
            request, required: ["session", "channel_url", "temp_id"], allowed: ["text", "file"])
        let channel = try fields.text("channel_url")
        guard fields.has("text") != fields.has("file") else {
            throw OutsideTables("a message must have either text or a file")
        }
        var file: BirdTubeWorld.File?
        if fields.has("file") {
            let sent = try fields.object("file")
            file = BirdTubeWorld.File(
                url: try sent.text("url"), name: try sent.text("name"),
                type: try sent.text("type"), size: try sent.number("size"))
        }
        let text = fields.has("text") ? try fields.text("text") : ""
        let name = try fields.text("temp_id")
        guard let user = world.user(ofSession: try fields.text("session")) else {
            return .empty(401)
        }
        guard let video = world.video(ofChannel: channel) else { return Self.noChannel }
        let newest = world.messages.filter { $0.channel == channel }.map(\.at).max() ?? now
        let message = world.insertMessage(
            in: channel, at: max(now, newest), kind: file == nil ? "text" : "file", text: text,
            file: file, sender: user.sendbirdID, senderName: user.nickname, tempID: name)
        core.note(
            .comment, video.id, by: String(user.id), file?.url ?? text,
            detail: String(message.id), at: now)
        return Self.success(["message": world.document(message)])
    }
}
