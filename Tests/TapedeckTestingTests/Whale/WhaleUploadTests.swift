import TapedeckTesting
import Testing

/// Video answers, which are acknowledged before they exist.
struct WhaleUploadTests {
    @Test func answerAppearsSomeTimeAfter201() throws {
        var ada = Caller.whale()
        ada.simulator.uploadMilliseconds = 5_000
        let question = try #require(ada.open(to: 1).first)
        let answer = try ada.upload(question: question)
        #expect(answer.status == 201 && answer.text == #"{"success":true}"#)
        let isOpen = { (caller: inout Caller<WhaleSimulator>) in
            try caller.page("questions?per_page=100").numbers("id").contains(question)
        }
        #expect(try isOpen(&ada))
        #expect(ada.simulator.effects.isEmpty)
        ada.now += 5_000
        #expect(try !isOpen(&ada))
        let newest = try #require(try ada.page("answers").first)
        #expect((newest["question"] as? [String: Any])?["id"] as? Int == question)
        let effect = try #require(ada.simulator.effects.last)
        #expect(effect.kind == .answerUploaded && effect.entity == "\(question)")
        #expect(effect.detail.contains("24 bytes"))
    }

    @Test func onlyTheReceiverMayAnswer() throws {
        var ada = Caller.whale()
        let question = try #require(ada.open(to: 2).first)
        let answer = try ada.upload(question: question)
        #expect(answer.status == 422 && answer.body.isEmpty)
    }

    @Test func fileOfAnotherKindIsAcknowledgedAndDropped() throws {
        var ada = Caller.whale()
        let question = try #require(ada.open(to: 1).first)
        #expect(try ada.upload(question: question, video: "clip.mp4").status == 201)
        #expect(try ada.upload(question: question, thumbnail: "still.webp").status == 201)
        ada.now += Moments.hour
        #expect(try ada.page("questions?per_page=100").numbers("id").contains(question))
    }

    @Test func secondAnswerToAQuestionIsAcknowledgedAndDropped() throws {
        var ada = Caller.whale()
        let question = try #require(ada.open(to: 1).first)
        #expect(try ada.upload(question: question).status == 201)
        #expect(try ada.upload(question: question).status == 201)
        ada.simulator.advance(to: ada.now + Moments.hour)
        #expect(ada.simulator.effects.count == 1)
    }

    @Test func uploadMayFailSilently() throws {
        var adversary = SimulatorAdversary()
        adversary.uploadLossRate = 1
        var ada = Caller.whale(adversary)
        let question = try #require(ada.open(to: 1).first)
        #expect(try ada.upload(question: question).status == 201)
        ada.simulator.advance(to: ada.now + Moments.day)
        #expect(ada.simulator.effects.isEmpty)
    }

    @Test func largeVideoArrivesCompletely() throws {
        var ada = Caller.whale()
        let question = try #require(ada.open(to: 1).first)
        let parts = ["video\"; filename=\"a.mov", "thumbnail\"; filename=\"a.png"].map {
            "--f\r\nContent-Disposition: form-data; name=\"\($0)\"\r\n\r\n"
        }
        let video = [UInt8](repeating: 13, count: 8 << 20)
        let body = Array(parts[0].utf8) + video + Array("\r\n\(parts[1])still\r\n--f--".utf8)
        let request = SimulatedRequest(
            "POST", "/api/v1/questions/\(question)/answers",
            headers: ada.headers + [
                SimulatedField("content-type", "multipart/form-data; boundary=\"f\"")
            ], body: body)
        #expect(ada.simulator.respond(to: request, at: ada.now).response?.status == 201)
        ada.simulator.advance(to: ada.now + Moments.hour)
        let effect = try #require(ada.simulator.effects.last)
        #expect(effect.detail.contains("\(video.count) bytes"))
    }

    @Test func uploadNeedsBothFiles() throws {
        var ada = Caller.whale()
        let question = try #require(ada.open(to: 1).first)
        let answer = try ada.call(
            "POST", "/api/v1/questions/\(question)/answers",
            form: ["video": "clip.mov", "thumbnail": "still.jpg"])
        #expect(answer.status == 400)
        #expect(ada.simulator.violations.count == 1)
    }
}
