import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// WH4: Questions to the user are listed, and an answer is recorded in segments of less than two
/// minutes in total, merged and uploaded.
@Suite struct WH4Tests {
    private let stage: WhaleStage
    private static let files = AnswerFiles(
        video: String(repeating: "0a", count: 32), thumbnail: String(repeating: "0b", count: 32))

    init() throws { stage = try WhaleStage("wh4") }

    private static func segment(_ name: String, _ seconds: Double) -> AnswerSegment {
        AnswerSegment(name, blob: String(repeating: "ab", count: 32), seconds: seconds)
    }

    @discardableResult
    private func record(
        _ step: RecordAnswer.Step, to question: String = "5", _ recording: String = "r1"
    ) async throws -> EventID? {
        let command = RecordAnswer(to: question, recording: recording, step)
        return try await stage.decide { try command.decide($0) }
    }

    private func refusal(
        _ step: RecordAnswer.Step, to question: String = "5", _ recording: String = "r1"
    ) async -> RecordAnswer.Refusal? {
        await #expect(throws: RecordAnswer.Refusal.self) {
            try await record(step, to: question, recording)
        }
    }

    private func answer() async throws -> AnswerEntry? {
        try await stage.ask { try $0.answers().answers.first }
    }

    private func questionState() async throws -> QuestionEntry.State? {
        try await stage.ask { try $0.questions(isPending: false).questions.first?.state }
    }

    private func startWithAQuestion() async throws {
        try await stage.signIn()
        try await stage.seeQuestion("5")
    }

    @Test func ownQuestionsAreThoseAskedOfTheUser() async throws {
        let nobody = await #expect(throws: StoreError.self) {
            try await stage.ask { try $0.ownQuestions().questions.count }
        }
        #expect(nobody?.code == .signInRequired)
        try await stage.signIn()
        for number in 1...9 {
            try await stage.seeQuestion("\(number)", to: number.isMultiple(of: 3) ? "1" : "2")
        }
        let mine = try await stage.ask { try $0.ownQuestions().questions }
        #expect(mine.map(\.id) == ["9", "6", "3"])
        #expect(mine.first?.text == "why 9?" && mine.first?.receiverName == "ada")
        try await stage.seeAnswer("1", to: "6")
        #expect(try await stage.ask { try $0.ownQuestions().questions.map(\.id) } == ["9", "3"])
        let all = try await stage.ask { try $0.ownQuestions(isPending: false).questions }
        #expect(all.map(\.state) == [.open, .answered, .open])
    }

    @Test func answersAreRecordedInSegmentsAndMerged() async throws {
        try await startWithAQuestion()
        try await record(.add(Self.segment("1", 70)))
        // Adding the same segment again records nothing.
        #expect(try await record(.add(Self.segment("1", 70))) == nil)
        try await record(.add(Self.segment("2", 20.5)))
        var entry = try #require(try await answer())
        #expect(entry.id == "r1" && entry.state == .recorded && entry.question == "5")
        #expect(entry.durationSeconds == 90.5 && entry.questionText == "why 5?")
        #expect(entry.segments.map(\.id) == ["1", "2"])
        #expect(entry.segments.map(\.durationSeconds) == [70, 20.5])
        #expect(try await questionState() == .open)

        #expect(
            await refusal(.add(Self.segment("3", 33.25))) == .tooLong(excessSeconds: 3.75))
        #expect(await refusal(.add(Self.segment("3", 29.5))) == .tooLong(excessSeconds: 0))
        try await record(.remove(segment: "2"))
        try await record(.add(Self.segment("3", 49.9)))

        try await record(.merge)
        #expect(try await answer()?.state == .merging)
        #expect(await refusal(.add(Self.segment("4", 0.05))) == .isMerging)
        #expect(await refusal(.remove(segment: "1")) == .isMerging)
        try await record(.failMerge(reason: "interrupted"))
        entry = try #require(try await answer())
        #expect(entry.state == .recorded && entry.code == "interrupted")
        #expect(await refusal(.handIn(Self.files)) == .notMerging)

        // After a restart the answer is still being merged.
        try await record(.merge)
        stage.store.close()
        let again = try stage.place.open()
        let state = try await again.query { try VideoQueries($0).answers().answers.first?.state }
        #expect(state == .merging)
        again.close()
    }

    @Test func outcomesDetermineTheStateOfSubmittedAnswers() async throws {
        try await startWithAQuestion()
        try await record(.add(Self.segment("1", 70)))
        try await record(.add(Self.segment("2", 49.9)))
        try await record(.merge)
        let intent = try #require(try await record(.handIn(Self.files)))
        var entry = try #require(try await answer())
        #expect(entry.id == intent.description && entry.state == .waiting)
        #expect(entry.durationSeconds == 119.9 && entry.segments.isEmpty)
        #expect(try await questionState() == .answering)
        #expect(await refusal(.add(Self.segment("9", 1))) == .alreadyAnswered)

        func answerAfter(
            _ kind: OutcomeRecorded.Kind, code: String = "", _ message: String = ""
        ) async throws -> AnswerEntry? {
            try await stage.recordOutcome(
                kind, of: intent, on: "question/5", code: code, message: message)
            return try await answer()
        }
        #expect(try await answerAfter(.dispatched)?.state == .uploading)
        #expect(try await answerAfter(.unsent)?.state == .waiting)
        #expect(try await answerAfter(.dispatched)?.state == .uploading)
        entry = try #require(try await answerAfter(.unknown, "no response arrived"))
        #expect(entry.state == .uploading && entry.code == "unknownOutcome")
        entry = try #require(try await answerAfter(.refused, code: "conditionFailed", "not asked"))
        #expect(entry.state == .refused && entry.code == "conditionFailed")
        #expect(entry.message == "not asked")
        #expect(try await questionState() == .open)
        // The user may start another recording, but cannot add to the submitted recording.
        #expect(await refusal(.add(Self.segment("3", 1))) == .hasEnded)
        #expect(try await answerAfter(.retried)?.state == .waiting)
        #expect(try await answerAfter(.confirmed)?.state == .uploading)
        try await stage.seeAnswer("12", to: "5")
        entry = try #require(try await answer())
        #expect(entry.id == "12" && entry.state == .published)
        #expect(try await stage.ask { try $0.answers().answers.count } == 1)
        #expect(try await questionState() == .answered)
        #expect(await refusal(.merge) == .alreadyAnswered)
    }

    @Test func discardedAnswersLeaveTheQuestionOpen() async throws {
        try await startWithAQuestion()
        try await record(.add(Self.segment("1", 5)))
        try await record(.add(Self.segment("2", 5)))
        try await record(.discard)
        #expect(try await answer() == nil)
        #expect(await refusal(.merge) == .nothingRecorded)
        try await record(.add(Self.segment("1", 5)), "r2")
        try await record(.merge, "r2")
        let intent = try #require(try await record(.handIn(Self.files), "r2"))
        try await stage.recordOutcome(.dropped, of: intent, on: "question/5")
        #expect(try await answer() == nil)
        #expect(try await questionState() == .open)
    }

    @Test func questionsToOtherUsersCannotBeAnswered() async throws {
        try await stage.signIn()
        try await stage.seeQuestion("6", to: "2")
        #expect(await refusal(.add(Self.segment("1", 5)), to: "6") == .notAsked)
    }

    @Test func segmentsFromTwoDevicesAreRefusedIfTooLongInTotal() async throws {
        try await startWithAQuestion()
        // Each segment is short enough by itself, but a command would refuse to add the second
        // segment.
        for (name, seconds) in [("1", 80.0), ("2", 45.5)] {
            try await stage.store.append([
                AnswerSegmentRecorded.with {
                    ($0.question, $0.recording, $0.segment) = ("5", "r1", name)
                    ($0.blob, $0.durationSeconds) = (String(repeating: "ab", count: 32), seconds)
                }
            ])
        }
        let entry = try #require(try await answer())
        #expect(entry.state == .refused && entry.code == "tooLarge")
        #expect(entry.message?.contains("5.5 s too long") == true)
        #expect(await refusal(.merge) == .tooLong(excessSeconds: 5.5))
        try await record(.remove(segment: "2"))
        #expect(try await answer()?.state == .recorded)
        #expect(throws: ModelError.self) {
            try AnswerSegmentRecorded.with {
                ($0.question, $0.recording, $0.segment) = ("5", "r1", "3")
                ($0.blob, $0.durationSeconds) = (String(repeating: "ab", count: 32), 121)
            }.normalized()
        }
    }
}
