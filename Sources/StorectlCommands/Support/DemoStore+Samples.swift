// The contents of a demo store. Events are appended in this order. Add new events at the end,
// because examples refer to log positions.
extension DemoStore {
    /// At least one event of every type, and data for every query.
    static var samples: [Sample] {
        shared + videos + queue + birdTube + users + answers + television + descriptions + contacts
            + visits + lists
    }

    /// Videos that other users share, activity on these videos, and an answer.
    private static let shared: [Sample] = [
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

    /// Playability checks, content URLs, lists, likes and shares of the videos above.
    private static let videos: [Sample] = [
        (
            "PlayabilityChecked", "2012-05-04T11:00:00Z",
            #"{"video":"youtube:aqz-KE-bpKQ","outcome":"playable"}"#
        ),
        (
            "PlayabilityChecked", "2012-05-04T11:00:01Z",
            #"{"video":"vimeo:1084537","outcome":"unplayable","reason":"embedding-denied"}"#
        ),
        (
            "PlayabilityChecked", "2012-05-04T11:00:02Z",
            """
            {"video":"youtube:eRsGyueVLvQ","outcome":"failed","reason":"timeout","attempt":1,\
            "retryAfterSeconds":60}
            """
        ),
        (
            "ExtractionFailed", "2012-05-04T11:00:03Z",
            """
            {"video":"youtube:eRsGyueVLvQ","reason":"timeout","attempt":1,\
            "retryAfterSeconds":30}
            """
        ),
        (
            "FrameObserved", "2012-05-04T11:01:00Z",
            """
            {"frame":"demo-frame","video":"youtube:aqz-KE-bpKQ","conversation":"demo-talk",\
            "creator":"ada","title":"Big Buck Bunny"}
            """
        ),
        (
            "VideoListed", "2012-05-04T11:01:01Z",
            """
            {"list":"stream","entry":"demo-entry-1","video":"youtube:aqz-KE-bpKQ",\
            "listedAt":"2012-05-02T11:58:00Z"}
            """
        ),
        (
            "VideoListed", "2012-05-04T11:01:02Z",
            """
            {"list":"personal-roll","entry":"demo-entry-2","video":"youtube:eRsGyueVLvQ",\
            "listedAt":"2012-05-03T18:30:00Z"}
            """
        ),
        (
            "VideoListed", "2012-05-04T11:01:03Z",
            """
            {"list":"dashboard/films","entry":"demo-entry-3","video":"vimeo:1084537",\
            "listedAt":"2012-05-03T19:00:00Z"}
            """
        ),
        (
            "VideoListed", "2012-05-04T11:01:04Z",
            """
            {"list":"roll/dragons","entry":"demo-entry-4","video":"youtube:eRsGyueVLvQ",\
            "listedAt":"2012-05-03T19:01:00Z"}
            """
        ),
        (
            "LikeToggled", "2012-05-04T11:02:00Z",
            #"{"video":"youtube:eRsGyueVLvQ","isOn":true}"#
        ),
        (
            "VideoWatched", "2012-05-04T11:03:00Z",
            """
            {"video":"youtube:eRsGyueVLvQ","startSeconds":0,"endSeconds":888,\
            "isComplete":true}
            """
        ),
        (
            "VideoShared", "2012-05-04T11:04:00Z",
            """
            {"video":"youtube:eRsGyueVLvQ","destinations":["email","twitter"],\
            "text":"Bring a handkerchief.","to":"grace@example.org"}
            """
        ),
    ]

    /// Now-playing reports, the play queue, and downloads.
    private static let queue: [Sample] = [
        ("VideoQueued", "2012-05-04T12:00:00Z", #"{"video":"vimeo:1084537"}"#),
        ("QueueCleared", "2012-05-04T12:00:01Z", "{}"),
        ("VideoQueued", "2012-05-04T12:00:02Z", #"{"video":"youtube:aqz-KE-bpKQ"}"#),
        ("VideoQueued", "2012-05-04T12:00:03Z", #"{"video":"vimeo:1084537"}"#),
        (
            "VideoQueuedNext", "2012-05-04T12:00:04Z",
            #"{"video":"youtube:eRsGyueVLvQ","after":"youtube:aqz-KE-bpKQ"}"#
        ),
        ("VideoUnqueued", "2012-05-04T12:00:05Z", #"{"video":"vimeo:1084537"}"#),
        (
            "NowPlayingChanged", "2012-05-04T12:01:00Z",
            """
            {"device":"tablet","video":"youtube:aqz-KE-bpKQ","viewing":"demo-viewing-1",\
            "positionSeconds":540,"isPlaying":true}
            """
        ),
        (
            "DownloadCompleted", "2012-05-04T12:02:00Z",
            """
            {"video":"youtube:aqz-KE-bpKQ","bytes":61000000,\
            "blob":"\(digest("1"))"}
            """
        ),
        (
            "DownloadCompleted", "2012-05-04T12:02:01Z",
            """
            {"video":"vimeo:1084537","bytes":58000000,\
            "blob":"\(digest("2"))"}
            """
        ),
        ("DownloadRemoved", "2012-05-04T12:03:00Z", #"{"video":"vimeo:1084537"}"#),
    ]

    /// Submitted videos, their chat, and the user's accounts.
    private static let birdTube: [Sample] = [
        (
            "SignedIn", "2012-05-05T09:00:00Z",
            #"{"account":"ada@example.org","system":"birdtube"}"#
        ),
        (
            "AccountObserved", "2012-05-05T09:00:01Z",
            """
            {"account":"ada@example.org","system":"birdtube","email":"ada@example.org",\
            "services":["twitter"],"channels":["demo-channel"]}
            """
        ),
        (
            "SignedIn", "2012-05-05T09:00:02Z",
            #"{"account":"grace@example.org","system":"birdtube"}"#
        ),
        (
            "SignedOut", "2012-05-05T09:00:03Z",
            #"{"account":"grace@example.org","system":"birdtube"}"#
        ),
        (
            "VideoSubmitted", "2012-05-05T09:01:00Z",
            #"{"url":"https://www.youtube.com/watch?v=eRsGyueVLvQ","title":"Sintel"}"#
        ),
        (
            "SubmissionObserved", "2012-05-05T09:02:00Z",
            """
            {"video":"youtube:aqz-KE-bpKQ","title":"Big Buck Bunny","owner":"linus@example.org",\
            "createdAt":"2012-05-02T12:00:00Z","views":"42","channel":"https://example.org/chat"}
            """
        ),
        (
            "VideoOpened", "2012-05-05T09:03:00Z",
            """
            {"video":"youtube:aqz-KE-bpKQ","viewer":"ada@example.org",\
            "viewing":"demo-opening"}
            """
        ),
        (
            "ChatMessageObserved", "2012-05-05T09:04:00Z",
            """
            {"message":"1","video":"youtube:aqz-KE-bpKQ","text":"Who painted the meadow?",\
            "sender":"linus@example.org","senderName":"linus","at":"2012-05-05T09:03:30Z"}
            """
        ),
        (
            "ChatMessagePosted", "2012-05-05T09:05:00Z",
            #"{"video":"youtube:aqz-KE-bpKQ","text":"All of them.","sender":"ada@example.org"}"#
        ),
    ]

    /// Users, their profiles, and their follows.
    private static let users: [Sample] = [
        (
            "UserObserved", "2012-05-06T09:00:00Z",
            """
            {"user":"demo-ada","username":"ada","firstName":"Ada","followerCount":"1",\
            "followingCount":"1","isOwn":true}
            """
        ),
        (
            "UserObserved", "2012-05-06T09:00:01Z",
            #"{"user":"demo-grace","username":"grace","firstName":"Grace"}"#
        ),
        (
            "ProfileEdited", "2012-05-06T09:01:00Z",
            #"{"user":"demo-ada","about":"I answer on Sundays."}"#
        ),
        (
            "FollowObserved", "2012-05-06T09:02:00Z",
            #"{"user":"demo-ada","follower":"demo-grace","isOn":true}"#
        ),
        (
            "FollowToggled", "2012-05-06T09:03:00Z",
            #"{"user":"demo-grace","follower":"demo-ada","isOn":true}"#
        ),
    ]

    /// Questions, and a published, a merged and an unfinished answer.
    private static let answers: [Sample] = [
        (
            "QuestionObserved", "2012-05-06T10:00:00Z",
            """
            {"question":"demo-question-2","text":"What makes a good dragon?",\
            "sender":"demo-ada","receiver":"demo-grace"}
            """
        ),
        (
            "AnswerObserved", "2012-05-06T10:01:00Z",
            """
            {"answer":"demo-answer-2","question":"demo-question-2",\
            "videoUrl":"https://example.org/answer-2.mp4","likeCount":"1","commentCount":"1"}
            """
        ),
        (
            "LikeObserved", "2012-05-06T10:02:00Z",
            #"{"like":"demo-like","answer":"demo-answer-2","user":"demo-ada"}"#
        ),
        (
            "CommentObserved", "2012-05-06T10:03:00Z",
            #"{"comment":"whale:demo","answer":"demo-answer-2","text":"Wings!","author":"linus"}"#
        ),
        (
            "QuestionAsked", "2012-05-06T10:04:00Z",
            #"{"receiver":"demo-grace","text":"And a good rabbit?"}"#
        ),
        (
            "QuestionObserved", "2012-05-06T10:05:00Z",
            """
            {"question":"demo-question-3","text":"How long did it take?",\
            "sender":"demo-grace","receiver":"demo-ada"}
            """
        ),
        segment("1", ofAnswerTo: "3", at: "2012-05-06T10:06:00Z"),
        segment("2", ofAnswerTo: "3", at: "2012-05-06T10:06:30Z"),
        (
            "AnswerSegmentRemoved", "2012-05-06T10:07:00Z",
            #"{"question":"demo-question-3","recording":"demo-recording-3","segment":"2"}"#
        ),
        merge("2012-05-06T10:08:00Z"),
        (
            "AnswerMergeFailed", "2012-05-06T10:08:05Z",
            """
            {"question":"demo-question-3","recording":"demo-recording-3",\
            "reason":"interrupted"}
            """
        ),
        merge("2012-05-06T10:09:00Z"),
        (
            "AnswerRecorded", "2012-05-06T10:09:05Z",
            """
            {"question":"demo-question-3","recording":"demo-recording-3","blob":"\(digest("3"))",\
            "thumbnail":"\(digest("4"))","durationSeconds":12.5,"videoExtension":"mov",\
            "thumbnailExtension":"jpg"}
            """
        ),
        (
            "QuestionObserved", "2012-05-06T10:10:00Z",
            """
            {"question":"demo-question-4","text":"What comes next?",\
            "sender":"demo-grace","receiver":"demo-ada"}
            """
        ),
        segment("1", ofAnswerTo: "4", at: "2012-05-06T10:11:00Z"),
    ]

    private static func segment(
        _ segment: String, ofAnswerTo question: String, at: String
    ) -> Sample {
        (
            "AnswerSegmentRecorded", at,
            """
            {"question":"demo-question-\(question)","recording":"demo-recording-\(question)",\
            "segment":"\(segment)","blob":"\(digest(segment))","durationSeconds":12.5}
            """
        )
    }

    private static func merge(_ at: String) -> Sample {
        (
            "AnswerMergeStarted", at,
            """
            {"question":"demo-question-3","recording":"demo-recording-3","segments":["1"]}
            """
        )
    }

    private static func digest(_ digit: String) -> String { String(repeating: digit, count: 64) }

    /// A show with two episodes; the second is rescheduled after its day has been listed.
    private static let television: [Sample] = [
        (
            "ShowObserved", "2012-05-04T06:00:00Z",
            """
            {"show":"1001","updated":"1336032000","name":"The Harbour","genres":["Drama"],\
            "network":{"id":"1","name":"Demo Network","countryName":"United States",\
            "countryCode":"US","timezone":"America/New_York"},"runtimeMinutes":60,\
            "summary":"<p>Ships come &amp; <b>go</b>.</p>"}
            """
        ),
        (
            "CastObserved", "2012-05-04T06:00:01Z",
            """
            {"show":"1001","showUpdated":"1336032000","cast":[{"personId":"1","person":"Hana",\
            "characterId":"1","character":"The pilot"}]}
            """
        ),
        (
            "EpisodeScheduled", "2012-05-04T06:00:02Z",
            """
            {"episode":"100101","show":"1001","showUpdated":"1336032000","name":"Ebb",\
            "season":1,"number":1,"airdate":"2012-05-03","airtime":"20:00",\
            "airstamp":"2012-05-04T00:00:00Z","runtimeMinutes":60}
            """
        ),
        (
            "EpisodeScheduled", "2012-05-04T06:00:03Z",
            """
            {"episode":"100102","show":"1001","showUpdated":"1336032000","name":"Flood",\
            "season":1,"number":2,"airdate":"2012-05-04","airtime":"20:00",\
            "airstamp":"2012-05-05T00:00:00Z","runtimeMinutes":60}
            """
        ),
        (
            "ScheduleListed", "2012-05-04T06:00:04Z",
            """
            {"date":"2012-05-04","country":"US","listedAt":"2012-05-03T08:00:04Z",\
            "episodes":["100102"]}
            """
        ),
        (
            "EpisodeScheduled", "2012-05-04T08:00:00Z",
            """
            {"episode":"100102","show":"1001","showUpdated":"1336118400","name":"Flood",\
            "season":1,"number":2,"airdate":"2012-05-04","airtime":"21:30",\
            "airstamp":"2012-05-05T01:30:00Z","runtimeMinutes":60}
            """
        ),
    ]

    /// A description of a video, as a remote reports it.
    private static let descriptions: [Sample] = [
        (
            "VideoDescribed", "2012-05-04T09:00:00Z",
            """
            {"video":"youtube:aqz-KE-bpKQ","title":"Big Buck Bunny",\
            "thumbnailUrl":"https://i.ytimg.com/vi/aqz-KE-bpKQ/hqdefault.jpg",\
            "description":"A large rabbit deals with three small bullies.",\
            "durationSeconds":596}
            """
        )
    ]

    /// An entry in the address book, and an address that a remote remembers.
    private static let contacts: [Sample] = [
        (
            "ContactNoted", "2012-05-06T11:00:00Z",
            #"{"address":"grace@example.org","name":"Grace Hopper"}"#
        ),
        (
            "ContactObserved", "2012-05-06T11:00:01Z",
            #"{"address":"linus@example.org","system":"shelby"}"#
        ),
    ]

    /// A sign-in at Shelby, and a visit.
    private static let visits: [Sample] = [
        (
            "SignedIn", "2012-05-06T11:00:00Z",
            #"{"account":"demo-ada","system":"shelby"}"#
        ),
        (
            "VisitStarted", "2012-05-06T11:00:01Z",
            #"{"account":"demo-ada","system":"shelby"}"#
        ),
    ]

    /// A roll that the user follows.
    private static let lists: [Sample] = [
        (
            "ListObserved", "2012-05-06T11:00:02Z",
            """
            {"list":"roll/dragons","title":"Dragons","owner":"demo-linus","ownerName":"linus",\
            "thumbnailUrl":"https://img.example.org/dragons.jpg","followed":true}
            """
        )
    ]
}
