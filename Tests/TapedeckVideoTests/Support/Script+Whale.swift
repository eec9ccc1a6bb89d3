import TapedeckModel
import TapedeckVideo

extension Script {
    /// Adds a random Whale event: segments of answers, likes, profile edits, follows and outcomes.
    mutating func whale(_ generator: inout SeededGenerator) throws {
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
        let origin = UInt64(number(3) + 1)
        let second = Double(number(200))
        let (question, answer) = ("q\(number(4))", "a\(number(3))")
        let (user, follower) = ("u\(number(2))", "u\(number(2) + 2)")
        func add(_ type: String, _ json: String) throws {
            try self.add(type, json, at: second, origin: origin)
        }
        let digest = String(repeating: "ab", count: 32)
        let recording = #""question":"\#(question)","recording":"r\#(number(3))""#
        switch number(12) {
        case 0, 1:
            try add(
                "AnswerSegmentRecorded",
                """
                {\(recording),"segment":"s\(number(4))","blob":"\(digest)",
                 "durationSeconds":\(number(60) + 1).25}
                """)
        case 2: try add("AnswerSegmentRemoved", #"{\#(recording),"segment":"s\#(number(4))"}"#)
        case 3: try add("AnswerMergeStarted", #"{\#(recording),"segments":["s\#(number(4))"]}"#)
        case 4: try add("AnswerMergeFailed", #"{\#(recording),"reason":"r\#(number(3))"}"#)
        case 5:
            try add(
                "AnswerRecorded",
                """
                {\(recording),"blob":"\(digest)","thumbnail":"\(digest)","videoExtension":"mov",
                 "thumbnailExtension":"jpg","durationSeconds":\(number(119) + 1)}
                """)
        case 6: try add("LikeToggled", #"{"answer":"\#(answer)","isOn":\#(number(2) == 0)}"#)
        case 7:
            let field = ["username", "firstName", "about", "imageUrl"][number(4)]
            let change =
                number(3) == 0 && field != "username"
                ? #""cleared":["\#(field)"]"# : #""\#(field)":"e\#(number(4))""#
            try add("ProfileEdited", #"{"user":"\#(user)",\#(change)}"#)
        case 8:
            try add(
                "FollowToggled",
                #"{"user":"\#(user)","follower":"\#(follower)","isOn":\#(number(3) > 0)}"#)
        case 9:
            let observation = FollowObserved.with {
                ($0.user, $0.follower, $0.isOn) = (user, follower, number(3) > 0)
            }
            try observe(observation, at: number(3) == 0 ? nil : second, origin: origin)
        default: try whaleOutcome(&generator, at: second, origin: origin)
        }
    }

    /// Adds the outcome of an intent, which may arrive later or never.
    private mutating func whaleOutcome(
        _ generator: inout SeededGenerator, at second: Double, origin: UInt64
    ) throws {
        let types: [EventType] = [
            AnswerRecorded.eventType, LikeToggled.eventType, FollowToggled.eventType,
        ]
        let intent = events.filter { types.contains($0.proposal.type) }
            .randomElement(using: &generator)
        let fresh = EventID(
            origin: OriginID(high: origin, low: 7),
            sequence: UInt64.random(in: 1...600, using: &generator))
        try outcome(
            of: intent?.id ?? fresh, by: Whale.system,
            tags: intent?.proposal.tags ?? [Tag("question", "q0")],
            kind: UInt8.random(in: 1...7, using: &generator), at: second, origin: origin)
    }
}
