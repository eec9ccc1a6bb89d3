extension BirdTubeSimulator {
    mutating func list(_ request: SimulatedRequest) throws(OutsideTables) -> SimulatedResponse {
        let fields = try SimulatedObject(request, required: ["offset", "limit", "order_by"])
        let (offset, limit) = (try fields.number("offset"), try fields.number("limit"))
        let isPopular = try fields.number("order_by") == 1
        guard let offset = Int(exactly: offset), let limit = Int(exactly: limit), offset >= 0,
            limit >= 0
        else { return SimulatorCore.brokenAnswer }
        // Each list is sorted by a single column, so rows with equal values have no defined order.
        let sorted =
            isPopular
            ? core.newestFirst(world.videos, date: { Int64($0.viewer) }, id: \.channel)
            : core.newestFirst(
                world.videos, date: { $0.createdAt / SimulatedTime.secondMilliseconds },
                id: \.channel)
        let rows = sorted.dropFirst(core.offset(offset)).prefix(limit).map { world.document($0) }
        return Self.success(["video_list": .array(rows)])
    }

    mutating func register(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let fields = try SimulatedObject(
            request, required: ["session", "video_id", "url", "title", "thumbnail"])
        let id = try fields.text("video_id")
        let (url, title) = (try fields.text("url"), try fields.text("title"))
        let thumbnail = try fields.text("thumbnail")
        let owner = world.user(ofSession: try fields.text("session"))
        guard world.video(id) == nil else {
            return Self.error("The video is already registered.")
        }
        // The API description gives no reason for this error. Possible reasons are that the session
        // is unknown or that the chat could not be created.
        guard let owner, id.utf8.count == 11 else {
            return Self.error("The video can't be registered.")
        }
        world.insertVideo(
            id: id, url: url, title: title, thumbnail: thumbnail, owner: owner.id, at: now)
        core.note(.submission, id, by: String(owner.id), title, detail: url, at: now)
        return Self.success()
    }

    /// Counts one view per call.
    ///
    /// For an unknown video, the response is the same but nothing is counted.
    mutating func view(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let id = try SimulatedObject(request, required: ["video_id"]).text("video_id")
        if let video = world.video(id) {
            world.videos[video].viewer += 1
            core.note(.view, id, by: "", at: now)
        }
        return .json(200, [:])
    }
}
