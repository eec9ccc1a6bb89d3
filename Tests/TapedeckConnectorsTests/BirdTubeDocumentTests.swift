import TapedeckConnectors
import TapedeckModel
import TapedeckVideo
import Testing

/// BirdTube documents in all their known forms.
@Suite struct BirdTubeDocumentTests {
    private func videos(_ row: String) throws -> [SubmissionObserved] {
        let json = #"{"result":"success","video_list":[\#(row)]}"#
        let result = try IngestResource.named("birdtube/videos").read(Array(json.utf8))
        #expect(result.refused == [])
        return try result.proposals.map { try SubmissionObserved(payload: $0.payload) }
    }

    private func messages(_ json: String) throws -> [ChatMessageObserved] {
        let result = try IngestResource.named("birdtube/messages").read(
            Array(json.utf8), video: "https://youtu.be/dQw4w9WgXcQ")
        #expect(result.refused == [])
        return try result.proposals.map { try ChatMessageObserved(payload: $0.payload) }
    }

    @Test func listRowsAreReadAsSubmissions() throws {
        let video = try #require(
            try videos(
                """
                {"url":"https://youtu.be/dQw4w9WgXcQ","video_id":"dQw4w9WgXcQ","title":"A & B",\
                "thumbnail":"https://i.ytimg.com/0.jpg","owner":5066549580791808,"viewer":3,\
                "created_time":1449046512,"updated_time":1449046513,"channel_url":"0f1e"}
                """
            ).first)
        #expect(video.video == "youtube:dQw4w9WgXcQ" && video.title == "A & B" && video.views == 3)
        #expect(video.owner == "5066549580791808" && video.channel == "0f1e")
        #expect(video.url == "https://youtu.be/dQw4w9WgXcQ")
        #expect(video.createdAt.milliseconds == 1_449_046_512_000)
    }

    @Test(arguments: [
        "1449046512", "1449046512000", "1449046512.0", #""2015-12-02T08:55:12Z""#,
        #""2015-12-02T09:55:12+01:00""#, #""2015-12-02 08:55:12""#,
        #""2015-12-02 08:55:12.000419""#, #""2015-12-02T08:55:12.000419""#,
    ])
    func timesAreReadInAllKnownFormats(_ time: String) throws {
        let video = try #require(
            try videos(#"{"video_id":"a","created_time":\#(time)}"#).first)
        #expect(video.createdAt.milliseconds == 1_449_046_512_000)
    }

    @Test(arguments: ["{}", #"{"created_time":null,"owner":null,"url":null}"#, #"{"url":""}"#])
    func missingAndNullMembersLeaveFieldsUnset(_ members: String) throws {
        let row = members.replacingOccurrences(of: "{", with: #"{"video_id":"a","title":null,"#)
            .replacingOccurrences(of: ",}", with: "}")
        let video = try #require(try videos(row).first)
        #expect(!video.hasCreatedAt && !video.hasOwner && !video.hasURL && !video.hasViews)
        #expect(!video.hasTitle && !video.hasChannel)
    }

    @Test func bothSpellingsOfMessageMembersAreRead() throws {
        let camel = """
            [{"id":7,"timestamp":1449046512345,"text":"hi","sender":{"id":"u","name":"U","image":""},\
            "tempId":"t","isOpMessage":true,"isGuestMessage":1,"isBlocked":false,"data":"x"}]
            """
        let snake = """
            {"result":"success","messages":[{"message_id":7,"timestamp":1449046512345,"text":"hi",\
            "sender":{"id":"u","name":"U"},"temp_id":"t","is_op_message":true,\
            "is_guest_message":true}]}
            """
        let (first, second) = (try messages(camel), try messages(snake))
        #expect(first == second && first.count == 1)
        let message = try #require(first.first)
        #expect(message.message == 7 && message.at.milliseconds == 1_449_046_512_345)
        #expect(message.kind == "text" && message.text == "hi" && message.video.hasSuffix("WgXcQ"))
        #expect(message.sender == "u" && message.senderName == "U" && message.tempID == "t")
        #expect(message.isOperator && message.isGuest && !message.isBlocked)
    }

    @Test func systemMessagesFilesAndBroadcastsAreRead() throws {
        let found = try messages(
            """
            [{"id":1,"timestamp":1,"file":{"url":"http://a/b","name":"b","type":"image/png","size":9}},\
            {"id":2,"timestamp":1,"type":"system","text":"Ada came","sender":null,"tempId":""},\
            {"id":3,"timestamp":1,"type":"broadcast","text":"all","sender":{"id":12}}]
            """)
        #expect(found.map(\.kind) == ["file", "system", "broadcast"])
        #expect(found[0].file.bytes == 9 && !found[0].hasText)
        #expect(!found[1].hasSender && !found[1].hasTempID && found[2].sender == "12")
    }

    @Test func readingMessagesRequiresAVideo() throws {
        let resource = try IngestResource.named("birdtube/messages")
        let missing = #expect(throws: ModelError.self) { try resource.read(Array("[]".utf8)) }
        #expect(missing?.code == .usage)
        let wrong = #expect(throws: ModelError.self) {
            try resource.read(Array("[]".utf8), video: "no video")
        }
        #expect(wrong?.code == .invalidVideo)
    }
}
