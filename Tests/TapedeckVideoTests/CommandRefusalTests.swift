import Foundation
import TapedeckVideo
import Testing

/// The messages of refused commands.
@Suite struct CommandRefusalTests {
    @Test(arguments: [
        (RecordAnswer.Refusal.tooLong(excessSeconds: 2.5) as any CommandRefusal, "2.5 s too long"),
        (EditQueue.Refusal.full, "\(PlayQueue.videosMax) videos"),
        (
            FailExtraction.Refusal.notDue(until: UTCTime(milliseconds: 0)),
            "1970-01-01T00:00:00.000Z"
        ),
        (HandOff.Refusal.sameDevice, "same device"),
        (FollowUser.Refusal.isOneself, "users cannot follow themselves"),
    ])
    func refusalMessagesExplainTheReason(refusal: any CommandRefusal, part: String) {
        #expect(refusal.localizedDescription.contains(part))
        #expect("\(refusal)" == refusal.message)
    }
}
