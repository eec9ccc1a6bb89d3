import TapedeckModel
import TapedeckVideo

extension Script {
    /// Adds a random BirdTube event: submissions, viewings and chats of videos, accounts and
    /// outcomes.
    mutating func birdTube(_ generator: inout SeededGenerator) throws {
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
        let origin = UInt64(number(3) + 1)
        let second = Double(number(200))
        let at: Double? = number(3) == 0 ? nil : second
        let video = "youtube:v\(number(4))"
        let intents = events.filter {
            [ChatMessagePosted.eventType, VideoSubmitted.eventType, VideoOpened.eventType]
                .contains($0.proposal.type)
        }
        // An event about an intent may arrive before the intent, or the intent may never arrive.
        let fresh = EventID(
            origin: OriginID(high: origin, low: 7), sequence: UInt64(number(600) + 1))
        let intent =
            number(2) == 0 ? intents.randomElement(using: &generator)?.id ?? fresh : fresh
        switch number(10) {
        case 0:
            try add(
                "VideoSubmitted", #"{"video":"\#(video)","title":"t\#(number(9))"}"#, at: second,
                origin: origin)
        case 1, 2:
            var observation = SubmissionObserved()
            observation.video = video
            if number(2) == 0 { observation.views = UInt64(number(9)) }
            if number(2) == 0 { observation.title = "s\(number(5))" }
            if number(2) == 0 { observation.owner = "u\(number(3))" }
            if number(3) == 0 { observation.createdAt = .init(milliseconds: Script.time(second)) }
            if number(3) == 0 { observation.postedAs = intent.description }
            // The observation of the video may come before or after the outcomes of intents.
            try observe(observation, at: at.map { $0 * 3_600 }, origin: origin)
        case 3, 4:
            // The videos are opened over several days, so that time windows begin and end.
            try add(
                "VideoOpened",
                #"{"video":"\#(video)","viewer":"u\#(number(3))","viewing":"w\#(number(40))"}"#,
                at: second * 3_600, origin: origin)
        case 5:
            try add(
                "ChatMessagePosted", #"{"video":"\#(video)","text":"x\#(number(9))"}"#, at: second,
                origin: origin)
        case 6, 7:
            var message = ChatMessageObserved()
            (message.message, message.video) = (Int64(number(30) + 1), video)
            message.at = .init(milliseconds: Script.time(Double(number(3))))
            if number(2) == 0 { message.text = "m\(number(9))" }
            if number(2) == 0 { message.isBlocked = number(2) == 0 }
            if number(3) == 0 { message.senderName = "n\(number(3))" }
            if number(3) == 0 { message.postedAs = intent.description }
            if number(3) == 0 { message.tempID = number(2) == 0 ? "t" : intent.description }
            try observe(message, at: at, origin: origin)
        case 8:
            try outcome(
                of: intent, video, kind: [1, 2, 3, 6, 7][number(5)], at: second * 3_600,
                origin: origin)
        default:
            let account = #"{"account":"u\#(number(3))","system":"birdtube"}"#
            if number(2) == 0 {
                try add(
                    number(2) == 0 ? "SignedIn" : "SignedOut", account, at: second, origin: origin)
                return
            }
            var observation = AccountObserved()
            (observation.account, observation.system) = ("u\(number(3))", "birdtube")
            if number(2) == 0 { observation.nickname = "n\(number(4))" }
            if number(2) == 0 { observation.services = ["s\(number(4))"] }
            if number(3) == 0 { observation.cleared = ["services"] }
            try observe(observation, at: at, origin: origin)
        }
    }

    /// Adds the outcome of an intent on BirdTube, under a video's tag.
    mutating func outcome(
        of intent: EventID, _ video: String, kind: UInt8, at second: Double, origin: UInt64 = 1
    ) throws {
        try outcome(
            of: intent, by: BirdTube.system, tags: [try VideoKey(video).tag], kind: kind,
            at: second,
            origin: origin)
    }

    /// Adds the outcome of an intent as a system reports it, under the intent's tags.
    mutating func outcome(
        of intent: EventID, by system: String, tags: [Tag], kind: UInt8, at second: Double,
        origin: UInt64 = 1
    ) throws {
        let id = Array(intent.description.utf8)
        // The field numbers are defined in schema/tapedeck/remote/v1/remote.proto.
        let system = Array(system.utf8)
        let payload =
            [1 << 3 | 2, UInt8(system.count)] + system + [2 << 3 | 2, UInt8(id.count)] + id + [
                4 << 3, kind,
            ]
        add(
            ProposedEvent(type: "OutcomeRecorded", tags: tags, payload: payload), at: second,
            origin: origin)
    }
}
