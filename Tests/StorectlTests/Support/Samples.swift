/// Small responses and events, in the formats of the remote systems.
enum Samples {
    /// The events of players and their devices.
    static let playback = [
        line("NowPlayingChanged", #"{"device":"tv","video":"vimeo:1084537","isPlaying":true}"#),
        line(
            "DownloadCompleted",
            #"{"video":"vimeo:1","bytes":11,"blob":"\#(String(repeating: "ab", count: 32))"}"#),
        line("VideoQueued", #"{"video":"vimeo:1084537"}"#),
        line(
            "VideoShared",
            #"{"video":"vimeo:1","destinations":["email"],"to":"ada@example.org"}"#),
    ].joined()

    /// A network schedule with one episode; `updated` is the version of the episode's show.
    static func schedule(updated: Int = 1_562_678_812, name: String = "Pilot") -> String {
        """
        [{"id":10,"url":"https://www.tvmaze.com/episodes/10","name":"\(name)","season":1,\
        "number":1,"airdate":"2019-07-11","airtime":"20:00",\
        "airstamp":"2019-07-12T00:00:00+00:00","runtime":60,"image":null,\
        "summary":"<p>It <b>begins</b>.</p>","show":\(show(updated: updated))}]
        """
    }

    static func show(updated: Int = 1_562_678_812) -> String {
        """
        {"id":7,"url":"https://www.tvmaze.com/shows/7","name":"Seven","type":"Scripted",\
        "language":"English","genres":["Drama"],"status":"Running","runtime":60,\
        "premiered":"2019-07-11","network":{"id":1,"name":"NBC","country":{"name":"United States",\
        "code":"US","timezone":"America/New_York"}},"webChannel":null,"image":null,\
        "summary":"<p>Seven of them.</p>","updated":\(updated)}
        """
    }

    static let cast = """
        [{"person":{"id":1,"name":"Ada","image":null},"character":{"id":2,"name":"Herself",\
        "image":null}}]
        """

    static let later = #"{"video":"https://youtu.be/dQw4w9WgXcQ","isOn":true}"#

    static func line(_ type: String, _ payload: String, at: String? = nil) -> String {
        let time = at.map { #","at":"\#($0)""# } ?? ""
        return #"{"type":"\#(type)","payload":\#(payload)\#(time)}"# + "\n"
    }

    /// A submitted video with its chat and the account of its owner.
    static let birdTube =
        line("VideoSubmitted", #"{"video":"youtube:eRsGyueVLvQ","title":"Sintel"}"#)
        + line("SubmissionObserved", #"{"video":"youtube:aqz-KE-bpKQ","views":"7","owner":"8"}"#)
        + line("VideoOpened", #"{"video":"youtube:aqz-KE-bpKQ","viewer":"me","viewing":"v-1"}"#)
        + line(
            "ChatMessageObserved",
            """
            {"message":1,"video":"youtube:aqz-KE-bpKQ","text":"hello","sender":"8",\
            "senderName":"Ada","at":"2016-03-01T12:00:00Z"}
            """)
        + line(
            "ChatMessageObserved",
            """
            {"message":2,"video":"youtube:aqz-KE-bpKQ","kind":"file","at":"2016-03-01T12:00:01Z",\
            "file":{"url":"https://example.org/a.png","name":"a.png","type":"image/png","bytes":9}}
            """)
        + line("ChatMessagePosted", #"{"video":"youtube:aqz-KE-bpKQ","text":"hi"}"#)
        + line(
            "AccountObserved",
            """
            {"account":"8","system":"birdtube","email":"ada@example.org",\
            "services":["twitter"],"channels":["c-1"]}
            """)

    /// At least one event for every list of Whale.
    static let whale = [
        line("UserObserved", #"{"user":"7","username":"ada","isOwn":true}"#),
        line("QuestionObserved", #"{"question":"5","text":"why?","sender":"8","receiver":"7"}"#),
        line("AnswerObserved", #"{"answer":"9","question":"4"}"#),
        line("LikeObserved", #"{"like":"1","answer":"9","user":"8"}"#),
        line("FollowToggled", #"{"user":"8","follower":"7","isOn":true}"#),
        line("ProfileEdited", #"{"user":"7","about":"I answer on Sundays."}"#),
        line(
            "AnswerSegmentRecorded",
            """
            {"question":"5","recording":"r1","segment":"1","durationSeconds":12.5,\
            "blob":"\(String(repeating: "ab", count: 32))"}
            """),
    ].joined()

    /// Returns the given number of toggles, each for a different video.
    static func toggles(_ count: Int) -> String {
        (0..<count).map {
            line("WatchLaterToggled", #"{"video":"youtube:video\#($0)","isOn":true}"#)
        }.joined()
    }
}
