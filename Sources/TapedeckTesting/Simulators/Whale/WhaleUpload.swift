/// An acknowledged upload that is not yet an answer.
struct WhaleUpload: Hashable, Sendable {
    var question: Int
    var user: Int
    var endsAt: Int64
    /// Whether the upload fails; a failed upload leaves no trace.
    var fails: Bool
    var fileExtension: String
    /// The text that describes the file in the ledger.
    var summary: String
}

extension WhaleSimulator {
    private static let videoExtensions: Set = ["mpeg4", "mov", "m4v"]
    private static let imageExtensions: Set = ["jpg", "jpeg", "gif", "png"]

    /// Reports success immediately and processes the files later.
    ///
    /// If a file has the wrong type, or the question already has an answer, processing fails
    /// silently.
    mutating func upload(
        _ id: Int, _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let fields = try SimulatedParameters(
            request, in: .form, required: ["video", "thumbnail"], files: ["video", "thumbnail"])
        // Draw random numbers for every upload, so that the outcome of one upload does not change
        // the outcome of others.
        let isLost = core.dice.chance(core.adversary.uploadLossRate)
        let most = UInt64(max(0, core.adversary.uploadDelayMillisecondsMax))
        let delay = Int64(core.dice.below(most + 1))
        guard let video = fields.file("video"), let thumbnail = fields.file("thumbnail") else {
            throw OutsideTables("video and thumbnail must be files")
        }
        guard let caller = caller(request, now) else { return Self.unauthorized }
        guard let question = world.question(id) else { return Self.notFound }
        guard question.receiver == caller else { return .empty(422) }
        let isKnown =
            Self.videoExtensions.contains(video.fileExtension)
            && Self.imageExtensions.contains(thumbnail.fileExtension)
        uploads.append(
            WhaleUpload(
                question: id, user: caller, endsAt: now + uploadMilliseconds + delay,
                fails: isLost || !isKnown, fileExtension: video.fileExtension,
                summary: "\(video.bytes.count) bytes \(video.checksum)"))
        return .json(201, ["success": true])
    }

    /// Completes the uploads that are due by `now`, in the order in which they are due.
    mutating func settleUploads(until now: Int64) {
        let due = uploads.filter { $0.endsAt <= now }.sorted { $0.endsAt < $1.endsAt }
        uploads.removeAll { $0.endsAt <= now }
        for upload in due where !upload.fails && !world.isAnswered(upload.question) {
            let answer = world.publish(
                question: upload.question, at: upload.endsAt, extension: upload.fileExtension)
            core.note(
                .answerUploaded, String(upload.question), by: String(upload.user),
                detail: "answer \(answer), \(upload.summary)", at: upload.endsAt)
        }
    }
}
