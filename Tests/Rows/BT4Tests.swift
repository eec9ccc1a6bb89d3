import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// BT4: Opening a video counts one view per viewer and time window, even after retries and before
/// the server has counted it.
@Suite struct BT4Tests {
    private static let video = "youtube:dQw4w9WgXcQ"
    private static let start: UInt64 = 1_500_000_000_000
    private static let hour: UInt64 = 3_600_000

    private static func at(_ hours: Double) -> UInt64 { start + UInt64(hours * Double(hour)) }

    private static func opening(_ viewer: String, _ viewing: String) -> VideoOpened {
        VideoOpened.with { ($0.video, $0.viewer, $0.viewing) = (video, viewer, viewing) }
    }

    private func views(_ store: TapedeckStore) async throws -> ViewsReport {
        try await store.query { try VideoQueries($0).views(video: Self.video) }
    }

    /// Returns the views shown, the remote's count, and the user's own views added to it.
    private func figures(_ store: TapedeckStore) async throws -> [Int?] {
        let found = try await views(store)
        return [found.views, found.observed, found.own]
    }

    @discardableResult
    private func open(
        _ store: TapedeckStore, _ viewer: String, _ viewing: String, at hours: Double
    ) async throws -> EventID {
        try await store.append(
            [Self.opening(viewer, viewing)], atMilliseconds: Self.at(hours)
        ).firstID
    }

    private func observe(_ store: TapedeckStore, _ views: UInt64, at hours: Double?) async throws {
        let event = SubmissionObserved.with { ($0.video, $0.views) = (Self.video, views) }
        try await store.log.append([
            ProposedEvent(observation: event, observedAt: hours.map { Int64(Self.at($0)) })
        ])
    }

    private func recordOutcome(
        _ store: TapedeckStore, _ intent: EventID, _ kind: OutcomeRecorded.Kind, at hours: Double
    ) async throws {
        let outcome = OutcomeRecorded.with {
            ($0.system, $0.intent, $0.kind) = (BirdTube.system, intent.description, kind)
        }
        var proposal = try ProposedEvent(outcome, atMilliseconds: Self.at(hours))
        proposal.tags = [try Tag("video", Self.video)]
        try await store.log.append([proposal])
    }

    @Test func eachViewerAddsOneViewPerDay() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        try await open(store, "ada", "1", at: 0)
        try await open(store, "ada", "2", at: 23.9)
        #expect(try await views(store).own == 1)
        try await open(store, "grace", "3", at: 1)
        #expect(try await views(store).own == 2)
        try await open(store, "ada", "4", at: 24)
        try await open(store, "ada", "5", at: 47)
        #expect(try await views(store).own == 3)
        // A window is measured from its beginning, not from the last opening in it.
        try await open(store, "ada", "6", at: 48)
        #expect(try await views(store).own == 4)
    }

    @Test func viewingsReportedAgainLaterAreCountedOnce() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        let open = try OpenVideo(Self.video, viewer: "ada", viewing: "1")
        #expect(try await store.decide { try open.decide(VideoQueries($0)) } != nil)
        #expect(try await store.decide { try open.decide(VideoQueries($0)) } == nil)
        // Another device, which has not received the event, reports the same viewing days later.
        let later = place.clock.milliseconds + 72 * Self.hour
        try await store.append([Self.opening("ada", "1")], atMilliseconds: later)
        #expect(try await views(store).own == 1)
    }

    @Test func lateReportsMoveTheWindow() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        try await open(store, "ada", "2", at: 20)
        try await open(store, "ada", "3", at: 40)
        #expect(try await views(store).own == 1)
        // The first window turns out to begin earlier, so hour 40 is after its end.
        try await open(store, "ada", "1", at: 0)
        #expect(try await views(store).own == 2)
    }

    @Test func viewWindowIsConfigurable() async throws {
        let place = try TemporaryStore()
        let projections = VideoProjections(viewWindow: .seconds(3_600))
        let store = try place.open(projections: projections.all)
        for hours in [0, 0.5, 1, 1.5, 2] { try await open(store, "ada", "\(hours)", at: hours) }
        let found = try await store.query {
            try VideoQueries($0, projections: projections).views(video: Self.video)
        }
        #expect(found.own == 3)
    }

    @Test func ownViewsAreShownUntilTheServerCountsThem() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        try await observe(store, 10, at: 0)
        let first = try await open(store, "ada", "1", at: 1)
        let second = try await open(store, "grace", "2", at: 1)
        let third = try await open(store, "linus", "3", at: 1)
        #expect(try await figures(store) == [13, 10, 3])
        // The remote's count includes views by other users. The user's own views are not delivered
        // yet.
        try await observe(store, 15, at: 2)
        #expect(try await views(store).views == 18)
        try await recordOutcome(store, first, .confirmed, at: 3)
        #expect(try await views(store).views == 18)
        try await observe(store, 16, at: 4)
        #expect(try await figures(store) == [18, 16, 2])
        // The confirmation is late: the count from hour 4 already includes this view.
        try await recordOutcome(store, second, .confirmed, at: 3.5)
        #expect(try await views(store).views == 17)
        try await recordOutcome(store, third, .dropped, at: 5)
        #expect(try await figures(store) == [16, 16, 0])
    }

    @Test func submissionListsIncludeOwnViews() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        try await observe(store, 10, at: 0)
        try await open(store, "ada", "1", at: 1)
        let entry = try await store.query { try VideoQueries($0).submissions().videos.first }
        #expect(entry?.views == 11 && entry?.ownViews == 1)
    }

    /// If two devices open a video within one window and one of them has reported its opening, the
    /// other device does not add a view.
    @Test func reportedWindowsAreNotCountedAgain() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        try await observe(store, 10, at: 0)
        let told = try await open(store, "ada", "2", at: 20)
        try await recordOutcome(store, told, .dispatched, at: 21)
        try await recordOutcome(store, told, .confirmed, at: 21.1)
        try await observe(store, 11, at: 22)
        #expect(try await figures(store) == [11, 11, 0])
        // The other device was offline. The opening on the other device is earlier, so it begins
        // the window.
        try await open(store, "ada", "1", at: 5)
        #expect(try await figures(store) == [11, 11, 0])
        // An opening outside the window of the two openings is a separate view.
        try await open(store, "ada", "3", at: 30)
        #expect(try await figures(store) == [12, 11, 1])
    }

    @Test func viewsOfUnknownOutcomeAreNotAddedToLaterCounts() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        let opening = try await open(store, "ada", "1", at: 1)
        try await observe(store, 10, at: 2)
        #expect(try await figures(store) == [11, 10, 1])
        try await recordOutcome(store, opening, .dispatched, at: 3)
        try await recordOutcome(store, opening, .unknown, at: 5)
        #expect(try await figures(store) == [11, 10, 1])
        try await observe(store, 11, at: 4)
        #expect(try await figures(store) == [11, 11, 0])
        // The outcome becomes `unsent` if the request was never sent, or if the user retries the
        // intent.
        try await recordOutcome(store, opening, .unsent, at: 6)
        #expect(try await figures(store) == [12, 11, 1])
    }

    // MARK: - Deliveries to the remote

    @Test func openingsAreReportedOnceWithoutALogin() async throws {
        try await BirdTubeStage.run { stage in
            let (store, key) = (stage.store, BirdTubeStage.key(3))
            func figures() async throws -> [Int?] {
                let found = try await store.query { try VideoQueries($0).views(video: key) }
                return [found.views, found.observed, found.own]
            }
            try await stage.sync()
            for viewing in ["1", "2"] {
                let open = try OpenVideo(key, viewer: "guest", viewing: viewing)
                _ = try await store.decide { try open.decide(VideoQueries($0)) }
            }
            #expect(try await figures() == [4, 3, 1])
            try await stage.sync()
            #expect(try await figures() == [4, 3, 1])
            for _ in 0..<2 { try await stage.sync() }
            #expect(stage.effects == ["view \(BirdTubeStage.id(3)) "])
            #expect(try await figures() == [4, 4, 0])
        }
    }
}
