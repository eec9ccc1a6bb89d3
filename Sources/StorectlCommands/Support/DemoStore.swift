internal import Tapedeck

/// Sample activity, and the mark of the stores that hold it.
///
/// The mark is a tag on each sample, so it goes along into every backup, copy and export. Whatever
/// syncs must ask `isMarked` first: what was made up is not for other devices.
enum DemoStore {
    /// The tag of everything that was made up.
    static let tagText = "demo/sample"

    /// Whether samples are among the events of a log.
    static func isMarked(_ log: EventLog) throws -> Bool {
        try !log.events(after: .start, limit: 1, tag: Tag(tagText)).isEmpty
    }

    /// Refuses a log with samples.
    static func refuse(_ log: EventLog) throws {
        guard try !isMarked(log) else {
            throw CommandError(
                .usage, "a store with sample activity never syncs",
                hint: "name another with --store; storectl init without --demo makes one")
        }
    }

    /// Records the samples and says how many there are.
    static func fill(_ log: EventLog) throws -> Int {
        let mark = try Tag(tagText)
        let proposals = try samples.map { sample in
            var proposal = try EventCatalogue.video.proposal(
                type: sample.type, json: sample.payload,
                atMilliseconds: TimeArgument.readEvent(sample.at))
            proposal.tags.append(mark)
            return proposal
        }
        try log.appendBlocking(proposals)
        return proposals.count
    }

    private static let samples: [(type: String, at: String, payload: String)] = [
        (
            "BroadcastReceived", "2012-05-01T09:00:00Z",
            """
            {"broadcast":"demo-1","video":"youtube:aqz-KE-bpKQ","title":"Big Buck Bunny",\
            "sharer":"ada","origin":"twitter","comment":"The rabbit wins.",\
            "createdAt":"2012-05-01T08:55:00Z","updatedAt":"2012-05-01T08:55:00Z","liked":true}
            """
        ),
        (
            "BroadcastReceived", "2012-05-01T09:00:01Z",
            """
            {"broadcast":"demo-2","video":"https://vimeo.com/1084537","title":"Big Buck Bunny",\
            "sharer":"grace","origin":"facebook","createdAt":"2012-05-01T07:30:00Z",\
            "updatedAt":"2012-05-01T07:30:00Z"}
            """
        ),
        (
            "BroadcastReceived", "2012-05-02T12:00:00Z",
            """
            {"broadcast":"demo-3","video":"https://youtu.be/aqz-KE-bpKQ",\
            "title":"Big Buck Bunny","sharer":"linus","origin":"twitter",\
            "comment":"Everybody has seen this, have you?","createdAt":"2012-05-02T11:58:00Z",\
            "updatedAt":"2012-05-02T11:58:00Z"}
            """
        ),
        (
            "BroadcastReceived", "2012-05-03T18:00:00Z",
            """
            {"broadcast":"demo-4","video":"youtube:eRsGyueVLvQ","title":"Sintel",\
            "sharer":"ada","origin":"twitter","comment":"A girl and her dragon.",\
            "createdAt":"2012-05-03T17:59:00Z","updatedAt":"2012-05-03T17:59:00Z",\
            "watchLater":true}
            """
        ),
        (
            "CommentPosted", "2012-05-03T18:20:00Z",
            #"{"video":"youtube:eRsGyueVLvQ","text":"I was not ready for the end.","author":"me"}"#
        ),
        (
            "WatchLaterToggled", "2012-05-03T18:21:00Z",
            #"{"video":"youtube:aqz-KE-bpKQ","isOn":true}"#
        ),
        (
            "WatchLaterToggled", "2012-05-03T18:22:00Z",
            #"{"video":"vimeo:1084537","isOn":true}"#
        ),
        (
            "PlaybackProgressed", "2012-05-03T20:00:00Z",
            """
            {"video":"youtube:aqz-KE-bpKQ","viewing":"demo-viewing-1","positionSeconds":60,\
            "durationSeconds":596}
            """
        ),
        (
            "PlaybackProgressed", "2012-05-03T20:08:00Z",
            """
            {"video":"youtube:aqz-KE-bpKQ","viewing":"demo-viewing-1","positionSeconds":540,\
            "durationSeconds":596}
            """
        ),
        (
            "VideoExtracted", "2012-05-03T20:09:00Z",
            """
            {"video":"vimeo:1084537","url":"https://example.org/big-buck-bunny.mp4",\
            "extractedAt":"2012-05-03T20:09:00Z","expiresAt":"2012-05-03T21:09:00Z"}
            """
        ),
        (
            "AnswerUploaded", "2012-05-04T10:00:00Z",
            """
            {"question":"demo-question","answer":"demo-answer","durationSeconds":14.5,\
            "videoUrl":"https://example.org/answer.mp4",\
            "thumbnailUrl":"https://example.org/answer.jpg"}
            """
        ),
        (
            "CommentPosted", "2012-05-04T10:05:00Z",
            #"{"answer":"demo-answer","text":"Well said.","author":"me"}"#
        ),
    ]
}
