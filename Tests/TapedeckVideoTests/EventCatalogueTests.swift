import Foundation
import SwiftProtobuf
import TapedeckModel
import TapedeckVideo
import Testing

/// A payload that must be refused, and a string that its error message must contain.
struct RefusedPayload: CustomTestStringConvertible {
    let type: String
    let json: String
    let code: ErrorCode
    let names: String

    init(_ type: String, _ json: String, _ code: ErrorCode, _ names: String) {
        (self.type, self.json, self.code, self.names) = (type, json, code, names)
    }

    var testDescription: String { "\(type) \(json.prefix(60))" }
}

@Suite struct EventCatalogueTests {
    private let catalogue = EventCatalogue.video

    private func message<E: VideoEvent>(_: E.Type, _ json: String) throws -> E {
        let proposal = try catalogue.proposal(type: E.eventType.name, json: json)
        #expect(proposal.type == E.eventType)
        return try E(payload: proposal.payload, version: proposal.schemaVersion)
    }

    @Test func catalogueListsEveryEventType() {
        #expect(
            catalogue.typeNames == [
                "AccountObserved", "AnswerMergeFailed", "AnswerMergeStarted", "AnswerObserved",
                "AnswerRecorded", "AnswerSegmentRecorded", "AnswerSegmentRemoved", "AnswerUploaded",
                "BroadcastReceived", "CastObserved", "ChatMessageObserved", "ChatMessagePosted",
                "CommentObserved", "CommentPosted", "ContactNoted", "ContactObserved",
                "DownloadCompleted", "DownloadRemoved", "EpisodeScheduled", "ExtractionFailed",
                "FollowObserved", "FollowToggled",
                "FrameObserved", "LikeObserved", "LikeToggled", "ListObserved", "NowPlayingChanged",
                "PlayabilityChecked", "PlaybackProgressed", "ProfileEdited", "QuestionAsked",
                "QuestionObserved", "QueueCleared", "ScheduleListed", "ShowObserved", "SignedIn",
                "SignedOut",
                "SubmissionObserved", "UserObserved", "VideoDescribed", "VideoExtracted",
                "VideoListed",
                "VideoOpened",
                "VideoQueued", "VideoQueuedNext", "VideoShared", "VideoSubmitted", "VideoUnqueued",
                "VideoWatched", "VisitStarted", "WatchLaterToggled",
            ])
    }

    @Test func broadcastIsReadAndTagged() throws {
        let json = """
            {"broadcast":"4e71","video":"http://youtu.be/dQw4w9WgXcQ?t=1","title":"T",
             "sharer":"ann",
             "origin":"twitter","comment":"c","createdAt":"2011-09-15T06:06:16.000+02:00",
             "updatedAt":"2011-09-15T04:06:17.250Z","liked":true,"watchLater":false,"watched":null}
            """
        let proposal = try catalogue.proposal(
            type: "BroadcastReceived", json: json, atMilliseconds: 17)
        #expect(proposal.tags.map(\.text) == ["video/youtube:dQw4w9WgXcQ"])
        #expect(proposal.atMilliseconds == 17)
        #expect(proposal.retention == .keepAll)
        let fact = try #require(proposal.fact)
        #expect(fact.version == 1_316_059_577_250)
        #expect(fact.observedAt == nil)
        let broadcast = try BroadcastReceived(payload: proposal.payload, version: 1)
        #expect(broadcast.video == "youtube:dQw4w9WgXcQ")
        #expect(broadcast.createdAt.seconds == 1_316_059_576)
        #expect(broadcast.hasLiked && broadcast.liked)
        #expect(broadcast.hasWatchLater && !broadcast.watchLater)
        #expect(!broadcast.hasWatched)
    }

    @Test func creationTimeIsTheVersionIfNoUpdateTimeIsGiven() throws {
        let json = #"{"broadcast":"1","video":"youtube:a","createdAt":"1970-01-01T00:00:01Z"}"#
        #expect(
            try catalogue.proposal(type: "BroadcastReceived", json: json).fact?.version == 1_000)
        let none = #"{"broadcast":"1","video":"youtube:a"}"#
        #expect(try catalogue.proposal(type: "BroadcastReceived", json: none).fact?.version == 0)
    }

    @Test func observationTimeIsTheVersionIfNoneIsGiven() throws {
        var cast = CastObserved()
        cast.show = 7
        let seen = try ProposedEvent(observation: cast, observedAt: 5_999)
        #expect(seen.fact?.version == 5)
        #expect(seen.fact?.observedAt == 5_999)
        cast.showUpdated = 9
        #expect(try ProposedEvent(observation: cast, observedAt: 5_999).fact?.version == 9)
    }

    @Test func int64FieldsAcceptNumbersAndStrings() throws {
        let texts = try message(ShowObserved.self, #"{"show":"118","updated":"1562678812"}"#)
        let numbers = try message(ShowObserved.self, #"{"show":118,"updated":1562678812}"#)
        #expect(texts == numbers)
        #expect(texts.show == 118)
    }

    @Test func eventsAreTaggedWithTheirSubjects() throws {
        let cases: [(String, String, [String])] = [
            ("VideoExtracted", #"{"video":"youtube:a","url":"http://x/1"}"#, ["video/youtube:a"]),
            ("CommentPosted", #"{"video":"youtube:a","text":"t"}"#, ["video/youtube:a"]),
            ("CommentPosted", #"{"answer":"9","text":"t"}"#, ["answer/9"]),
            ("AnswerUploaded", #"{"question":"q","answer":"9"}"#, ["answer/9", "question/q"]),
            ("WatchLaterToggled", #"{"video":"youtube:a","isOn":false}"#, ["video/youtube:a"]),
            (
                "PlaybackProgressed", #"{"video":"youtube:a","viewing":"v","positionSeconds":1}"#,
                ["video/youtube:a"]
            ),
            ("ShowObserved", #"{"show":1}"#, ["show/1"]),
            ("CastObserved", #"{"show":1}"#, ["show/1"]),
            ("EpisodeScheduled", #"{"show":1,"episode":2}"#, ["episode/2", "show/1"]),
            ("ContactNoted", #"{"address":"Ada@Example.org"}"#, ["contact/ada@example.org"]),
        ]
        for (type, json, tags) in cases {
            #expect(try catalogue.proposal(type: type, json: json).tags.map(\.text) == tags)
        }
    }

    @Test func eventTypeDeterminesRetention() throws {
        let progress =
            #"{"video":"youtube:a","viewing":"v","durationSeconds":3,"positionSeconds":9}"#
        #expect(
            try catalogue.proposal(type: "PlaybackProgressed", json: progress).retention == .max)
        let extracted = #"{"video":"youtube:a","url":"http://x/1"}"#
        #expect(
            try catalogue.proposal(type: "VideoExtracted", json: extracted).retention == .latest)
        // Compaction removes the names of removed contacts from the log.
        let contact = #"{"address":"ada@example.org","name":"Ada","removed":true}"#
        let removal = try catalogue.proposal(type: "ContactNoted", json: contact)
        #expect(removal.retention == .latest)
        #expect(try !ContactNoted(payload: removal.payload, version: 1).hasName)
    }

    @Test func payloadsAreEncodedAsProtobufJSON() throws {
        let proposal = try catalogue.proposal(
            type: "EpisodeScheduled",
            json: #"{"show":1,"episode":2,"airstamp":"2019-07-11T05:30:00+00:00","season":2019}"#)
        let json = try #require(
            try catalogue.json(type: proposal.type, payload: proposal.payload))
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        #expect(object["episode"] as? String == "2")
        #expect(object["airstamp"] as? String == "2019-07-11T05:30:00Z")
        #expect(object["season"] as? Int == 2019)
        #expect(try catalogue.json(type: "Unheard", payload: []) == nil)
        let again = try catalogue.proposal(type: "EpisodeScheduled", json: json)
        #expect(again.payload == proposal.payload)
    }

    @Test func invalidPayloadsThrow() {
        let error = #expect(throws: ModelError.self) {
            try catalogue.json(type: "WatchLaterToggled", payload: [0x0A, 0xFF])
        }
        #expect(error?.code == .invalidPayload)
    }

    @Test func equalMessagesGiveEqualBytes() throws {
        let one = #"{"video":"youtube:a","text":"t","author":"x"}"#
        let two = #"{"author":"x","text":"t","video":"YOUTUBE:a"}"#
        #expect(
            try catalogue.proposal(type: "CommentPosted", json: one).payload
                == catalogue.proposal(type: "CommentPosted", json: two).payload)
    }

    private static let long = String(repeating: "x", count: FieldLimits.textBytesMax + 1)

    static let refused: [RefusedPayload] = [
        RefusedPayload("BroadcastReceived", "{}", .invalidPayload, "broadcast"),
        RefusedPayload(
            "BroadcastReceived", #"{"broadcast":"1"}"#, .invalidPayload,
            "video is missing or empty"),
        RefusedPayload(
            "WatchLaterToggled", #"{"video":" ","isOn":true}"#, .invalidPayload,
            "video is missing or empty"),
        RefusedPayload(
            "BroadcastReceived", #"{"broadcast":"","video":"youtube:a"}"#, .invalidPayload,
            "broadcast"),
        RefusedPayload(
            "BroadcastReceived", #"{"broadcast":"a\nb","video":"youtube:a"}"#, .invalidPayload,
            "broadcast"),
        RefusedPayload(
            "BroadcastReceived", #"{"broadcast":"1","video":"youtube:a","title":7}"#,
            .invalidPayload, "title"),
        RefusedPayload(
            "BroadcastReceived", #"{"broadcast":"1","video":"youtube:a","liked":"yes"}"#,
            .invalidPayload, #"liked is "yes", not true or false"#),
        RefusedPayload(
            "BroadcastReceived", #"{"broadcast":"1","video":"youtube:a","createdAt":"yesterday"}"#,
            .invalidPayload,
            #"createdAt is "yesterday", not a time such as "2019-07-11T20:00:00Z""#),
        RefusedPayload(
            "BroadcastReceived", #"{"broadcast":"1","video":"youtube:a","createdAt":16777216}"#,
            .invalidPayload, "createdAt is 16777216, not a time such as"),
        RefusedPayload(
            "BroadcastReceived",
            #"{"broadcast":"1","video":"youtube:a","createdAt":"1969-12-31T23:59:59Z"}"#,
            .invalidPayload,
            "createdAt is 1969-12-31T23:59:59.000Z, not a time from 1970 to 9999"),
        RefusedPayload(
            "BroadcastReceived",
            #"{"broadcast":"1","video":"youtube:a","comment":"\#(long)"}"#,
            .tooLarge, "comment"),
        RefusedPayload("CommentPosted", #"{"text":"t"}"#, .invalidPayload, "video"),
        RefusedPayload(
            "CommentPosted", #"{"text":"t","video":"youtube:a","answer":"1"}"#, .invalidPayload,
            "answer"),
        RefusedPayload("CommentPosted", #"{"video":"youtube:a"}"#, .invalidPayload, "text"),
        RefusedPayload(
            "CommentPosted", #"{"video":"youtube:a","text":" \n\t "}"#, .invalidPayload, "text"),
        RefusedPayload("CommentPosted", #"{"answer":"","text":"t"}"#, .invalidPayload, "answer"),
        RefusedPayload("WatchLaterToggled", #"{"video":"youtube:a"}"#, .invalidPayload, "isOn"),
        RefusedPayload(
            "WatchLaterToggled", #"{"video":"youtube:a","isOn":1}"#, .invalidPayload, "isOn"),
        RefusedPayload(
            "WatchLaterToggled", #"{"video":"not a video","isOn":true}"#, .invalidVideo, "video"),
        RefusedPayload(
            "WatchLaterToggled", #"{"video":["youtube:a"],"isOn":true}"#, .invalidPayload, "video"),
        RefusedPayload(
            "PlaybackProgressed", #"{"video":"youtube:a","positionSeconds":1}"#, .invalidPayload,
            "viewing"),
        RefusedPayload(
            "PlaybackProgressed",
            #"{"video":"youtube:a","viewing":"v","positionSeconds":-0.5}"#, .invalidPayload,
            "positionSeconds"),
        RefusedPayload(
            "PlaybackProgressed",
            #"{"video":"youtube:a","viewing":"v","positionSeconds":"NaN"}"#, .invalidPayload,
            "positionSeconds"),
        RefusedPayload(
            "PlaybackProgressed",
            #"{"video":"youtube:a","viewing":"v","durationSeconds":"Infinity"}"#, .invalidPayload,
            "durationSeconds"),
        RefusedPayload(
            "PlaybackProgressed",
            #"{"video":"youtube:a","viewing":"v","durationSeconds":1e400}"#, .invalidPayload,
            "durationSeconds"),
        RefusedPayload(
            "PlaybackProgressed",
            #"{"video":"youtube:a","viewing":"v","playedSeconds":-1}"#, .invalidPayload,
            "playedSeconds"),
        RefusedPayload(
            "AnswerUploaded", #"{"question":"q"}"#, .invalidPayload, "answer"),
        RefusedPayload(
            "AnswerUploaded", #"{"question":"q","answer":"a","durationSeconds":-1}"#,
            .invalidPayload, "durationSeconds"),
        RefusedPayload("ContactNoted", #"{"name":"Ada"}"#, .invalidPayload, "address is missing"),
        RefusedPayload(
            "ContactNoted", #"{"address":"\#(String(repeating: "a", count: 250))@b.org"}"#,
            .tooLarge,
            "address"),
        RefusedPayload(
            "ContactObserved", #"{"address":"ada@example.org"}"#, .invalidPayload, "system"),
        RefusedPayload("ListObserved", #"{"list":"stream"}"#, .invalidPayload, "list"),
        RefusedPayload("ListObserved", #"{"list":"roll/"}"#, .invalidPayload, "list"),
        RefusedPayload(
            "ListObserved", #"{"list":"roll/1","thumbnailUrl":"nourl"}"#, .invalidPayload,
            "thumbnailUrl"),
        RefusedPayload("VideoExtracted", #"{"video":"youtube:a"}"#, .invalidPayload, "url"),
        RefusedPayload(
            "VideoExtracted", #"{"video":"youtube:a","url":"nourl"}"#, .invalidPayload, "url"),
        RefusedPayload("ShowObserved", #"{"show":-1}"#, .invalidPayload, "show"),
        RefusedPayload(
            "ShowObserved", #"{"show":1180591620717411303424}"#, .invalidPayload, "show"),
        RefusedPayload(
            "EpisodeScheduled", #"{"show":1,"episode":2,"airtime":"25:99"}"#, .invalidPayload,
            "airtime"),
        RefusedPayload(
            "EpisodeScheduled", #"{"show":1,"episode":2,"airtime":"9:5"}"#, .invalidPayload,
            "airtime"),
        RefusedPayload(
            "EpisodeScheduled", #"{"show":1,"episode":2,"airdate":"2019-99-99"}"#, .invalidPayload,
            "airdate"),
        RefusedPayload("CastObserved", #"{"show":1,"cast":[{}]}"#, .invalidPayload, "cast[0]"),
        RefusedPayload("CommentPosted", "[]", .invalidPayload, "list"),
        RefusedPayload("CommentPosted", "", .malformedJSON, "line 1, column 1"),
        RefusedPayload("CommentPosted", "{\n \"text\": }", .malformedJSON, "line 2, column 10"),
        RefusedPayload("CommentPosted", #"{"text":"\ud800"}"#, .malformedJSON, "surrogate"),
        RefusedPayload(
            "CommentPosted", String(repeating: "[", count: 10_000), .tooLarge, "deeper"),
        RefusedPayload("commentposted", "{}", .unknownType, "commentposted"),
        RefusedPayload("", "{}", .unknownType, "not an event type"),
    ]

    @Test(arguments: refused)
    func invalidPayloadErrorsNameTheField(_ payload: RefusedPayload) {
        let error = #expect(throws: ModelError.self) {
            try catalogue.proposal(type: payload.type, json: payload.json)
        }
        #expect(error?.code == payload.code)
        #expect(error?.message.contains(payload.names) == true, "\(String(describing: error))")
    }

    @Test func hugeStringsAreTooLarge() {
        let json = #"{"video":"youtube:a","text":"\#(String(repeating: "x", count: 100_000_000))"}"#
        let error = #expect(throws: ModelError.self) {
            try catalogue.proposal(type: "CommentPosted", json: json)
        }
        #expect(error?.code == .tooLarge)
    }

    @Test func invalidUTF8IsMalformed() {
        let json = Array(#"{"video":"youtube:a","text":""#.utf8) + [0xC3, 0x28] + Array("\"}".utf8)
        let error = #expect(throws: ModelError.self) {
            try catalogue.proposal(type: "CommentPosted", json: json)
        }
        #expect(error?.code == .malformedJSON)
        #expect(error?.message.contains("UTF-8") == true)
    }

    @Test func misspelledTypesGetAHint() {
        let error = #expect(throws: ModelError.self) {
            try catalogue.proposal(type: "WatchLaterTogled", json: "{}")
        }
        #expect(error?.hint?.contains("WatchLaterToggled") == true)
        let far = #expect(throws: ModelError.self) {
            try catalogue.proposal(type: String(repeating: "é", count: 100_000), json: "{}")
        }
        #expect(far?.code == .unknownType)
    }

    // MARK: - Unknown fields

    /// A payload with an unknown field, and the expected error.
    struct UnknownField: CustomTestStringConvertible {
        let type: String
        let json: String
        let message: String
        let hint: String

        var testDescription: String { "\(type) \(json.prefix(60))" }
    }

    static let unknownFields = [
        UnknownField(
            type: "WatchLaterToggled", json: #"{"video":"youtube:a","isOn":true,"isOnn":false}"#,
            message: "WatchLaterToggled has no field isOnn",
            hint: "did you mean isOn? The valid fields are video, isOn"),
        UnknownField(
            type: "PlaybackProgressed",
            json: #"{"video":"youtube:a","viewing":"v","position":1,"durationSeconds":2}"#,
            message: "PlaybackProgressed has no field position",
            hint: "did you mean positionSeconds? The valid fields are video, viewing,"
                + " positionSeconds, durationSeconds, playedSeconds"),
        UnknownField(
            type: "CommentPosted", json: #"{"nothingLikeIt":null,"video":"youtube:a","text":"t"}"#,
            message: "CommentPosted has no field nothingLikeIt",
            hint: "the valid fields are video, answer, text, author"),
        UnknownField(
            type: "ShowObserved", json: #"{"show":1,"schedule":{"time":"22:00","dayz":["Fri"]}}"#,
            message: "ShowObserved has no field schedule.dayz",
            hint: "did you mean days? The valid fields are time, days"),
        UnknownField(
            type: "CastObserved",
            json: #"{"show":1,"cast":[{"person":1,"character":2},{"personImage":{"larg":"x"}}]}"#,
            message: "CastObserved has no field cast[1].personImage.larg",
            hint: "the valid fields are medium, original"),
    ]

    @Test(arguments: unknownFields)
    func unknownFieldsAreRefused(_ field: UnknownField) {
        let error = #expect(throws: ModelError.self) {
            try catalogue.proposal(type: field.type, json: field.json)
        }
        #expect(error?.code == .invalidPayload)
        #expect(error?.message == field.message)
        #expect(error?.hint == field.hint)
    }

    @Test func schemaFieldNamesAreAccepted() throws {
        let json = #"{"video":"youtube:a","is_on":true}"#
        let toggled = try message(WatchLaterToggled.self, json)
        #expect(toggled.isOn)
        let error = #expect(throws: ModelError.self) {
            try catalogue.proposal(
                type: "WatchLaterToggled", json: #"{"video":"youtube:a","is_on":true,"o_n":1}"#)
        }
        #expect(error?.message == "WatchLaterToggled has no field o_n")
    }

    /// Events imported or synced from a newer program keep the fields that this program does not
    /// know.
    @Test func recordedPayloadsKeepUnknownFields() throws {
        let known = try catalogue.proposal(
            type: "WatchLaterToggled", json: #"{"video":"youtube:a","isOn":true}"#)
        let newer = known.payload + [0xFA, 0x01, 0x01, 0x78]
        #expect(try WatchLaterToggled(payload: newer).payload() == newer)
        let json = try catalogue.json(type: known.type, payload: newer)
        #expect(json == #"{"video":"youtube:a","isOn":true}"#)
    }

    /// A newer version may give known fields another meaning.
    @Test func payloadsOfNewerVersionsAreRefused() throws {
        let known = try catalogue.proposal(
            type: "WatchLaterToggled", json: #"{"video":"youtube:a","isOn":true}"#)
        let error = #expect(throws: ModelError.self) {
            try catalogue.json(type: known.type, version: 2, payload: known.payload)
        }
        #expect(error?.code == .newerFormat)
        #expect(
            error?.message
                == "the payload uses schema version 2 of WatchLaterToggled; this program supports up to version 1"
        )
    }

    @Test func timesAfterYear9999AreInvalid() {
        let error = #expect(throws: ModelError.self) {
            try catalogue.proposal(
                type: "ShowObserved", json: #"{"show":1}"#, atMilliseconds: .max)
        }
        #expect(error?.code == .invalidTime)
    }

    @Test func typedEventsAreValidated() {
        var toggled = WatchLaterToggled()
        toggled.video = "https://youtu.be/dQw4w9WgXcQ"
        #expect(throws: ModelError.self) { try ProposedEvent(toggled) }
        toggled.isOn = true
        #expect(throws: Never.self) { try ProposedEvent(toggled) }
    }
}
