import Foundation
import TapedeckVideo
import Testing

/// What a command refuses, it explains to people.
@Suite struct CommandRefusalTests {
    @Test(arguments: [
        (RecordAnswer.Refusal.tooLong(excessSeconds: 2.5) as any CommandRefusal, "2.5 s too long"),
        (EditQueue.Refusal.full, "\(PlayQueue.videosMax) videos"),
        (
            FailExtraction.Refusal.notDue(until: UTCTime(milliseconds: 0)),
            "1970-01-01T00:00:00.000Z"
        ),
        (HandOff.Refusal.sameDevice, "one device"),
        (FollowUser.Refusal.isOneself, "nobody follows themselves"),
    ])
    func aRefusalIsASentence(refusal: any CommandRefusal, part: String) {
        #expect(refusal.localizedDescription.contains(part))
        #expect("\(refusal)" == refusal.message)
    }
}
