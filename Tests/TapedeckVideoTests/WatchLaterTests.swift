import TapedeckModel
import TapedeckProjections
import TapedeckVideo
import Testing

/// Returns the time at which each video was marked, in seconds since the start of the script, and
/// checks that the order of arrival does not matter.
private func marks(
    _ script: Script, rule: WatchLaterRule = .crossing
) throws -> [String: Double] {
    let projections = VideoProjections(watchLaterRule: rule)
    try checkOrderDoesNotMatter(projections.watchLater, script.events)
    let page = try queries(script.events, projections).watchLater()
    return page.videos.reduce(into: [:]) {
        $0[$1.key] = Double($1.since.milliseconds - Int64(Script.start)) / 1_000
    }
}

@Suite struct WatchLaterTests {
    @Test func togglesSetAndClearTheMark() throws {
        var script = Script()
        try script.toggle(true, at: 10)
        #expect(try marks(script) == ["youtube:one": 10])
        try script.toggle(false, at: 20)
        #expect(try marks(script).isEmpty)
        try script.toggle(true, at: 30)
        #expect(try marks(script) == ["youtube:one": 30])
    }

    @Test func confirmedToggleEndsWithTheRemotesMark() throws {
        var script = Script()
        try script.toggle(true, at: 10)
        let toggle = try #require(script.events.last).id
        try script.confirmation(of: toggle, "youtube:one", by: "b", version: 12, at: 13)
        try script.broadcast("b", updated: 12, watchLater: true)
        #expect(try marks(script) == ["youtube:one": 10])
        // The mark is cleared neither by another broadcast without the mark nor by an older
        // observation of the marked broadcast.
        try script.broadcast("c", updated: 50, watchLater: false)
        try script.broadcast("b", updated: 11, watchLater: false)
        #expect(try marks(script) == ["youtube:one": 10])
        try script.broadcast("b", updated: 20, watchLater: false)
        #expect(try marks(script).isEmpty)
    }

    /// The remote reports the mark late, after the user has undone the toggle.
    @Test func remoteMarkBeginsWithTheToggleThatSetIt() throws {
        var script = Script()
        try script.toggle(true, at: 10)
        let toggle = try #require(script.events.last).id
        try script.toggle(false, at: 12)
        try script.broadcast("b", updated: 15, watchLater: true)
        #expect(try marks(script) == ["youtube:one": 15])
        try script.confirmation(of: toggle, "youtube:one", by: "b", version: 15, at: 16)
        #expect(try marks(script).isEmpty)
        // Another edit on the remote does not begin a new mark, but clearing and setting the mark
        // again does.
        try script.broadcast("b", updated: 18, watchLater: true)
        #expect(try marks(script).isEmpty)
        try script.broadcast("b", updated: 20, watchLater: false)
        try script.broadcast("b", updated: 22, watchLater: true)
        #expect(try marks(script) == ["youtube:one": 22])
    }

    @Test func remotesCannotClearAnUnconfirmedToggle() throws {
        var script = Script()
        try script.toggle(true, at: 10)
        try script.broadcast("b", updated: 20, watchLater: false)
        #expect(try marks(script) == ["youtube:one": 10])
    }

    @Test func earliestActiveMarkDeterminesTheTime() throws {
        var script = Script()
        try script.toggle(true, at: 10)
        try script.toggle(true, at: 20, origin: 2)
        #expect(try marks(script) == ["youtube:one": 10])
        try script.toggle(false, at: 15, origin: 3)
        #expect(try marks(script) == ["youtube:one": 20])
    }

    @Test func reachingThreeQuartersClearsTheMark() throws {
        var script = Script()
        try script.toggle(true, at: 10)
        try script.progress("v", 74.9, at: 20)
        #expect(try marks(script) == ["youtube:one": 10])
        try script.progress("v", 75, at: 21)
        #expect(try marks(script).isEmpty)
    }

    @Test func viewingBegunBeforeTheMarkCanClearIt() throws {
        var script = Script()
        try script.progress("v", 10, at: 1)
        try script.toggle(true, at: 10)
        try script.progress("v", 80, at: 20)
        #expect(try marks(script).isEmpty)
    }

    @Test func markAfterACrossingLastsUntilALaterViewingCrosses() throws {
        var script = Script()
        try script.toggle(true, at: 10)
        try script.progress("v", 80, at: 20)
        try script.toggle(true, at: 25)
        try script.progress("v", 90, at: 30)
        try script.progress("v", 100, at: 40)
        #expect(try marks(script) == ["youtube:one": 25])
        try script.progress("w", 50, at: 50)
        #expect(try marks(script) == ["youtube:one": 25])
        try script.progress("w", 76, at: 60)
        #expect(try marks(script).isEmpty)
    }

    @Test(arguments: [(48.3, 64.4), (0.3, 0.4), (45.3, 60.4), (75, 100), (450, 600)])
    func threeQuartersThresholdIsExact(position: Double, duration: Double) throws {
        var script = Script()
        try script.toggle(true, at: 10)
        func report(_ position: Double, at second: Double) throws {
            var event = PlaybackProgressed()
            (event.video, event.viewing) = ("youtube:one", "v")
            (event.positionSeconds, event.durationSeconds) = (position, duration)
            try script.add(event, at: second)
        }
        try report(position - 0.000_1, at: 20)
        #expect(try marks(script) == ["youtube:one": 10])
        #expect(try marks(script, rule: .rule2012) == ["youtube:one": 10])
        try report(position, at: 21)
        #expect(try marks(script).isEmpty)
        #expect(try marks(script, rule: .rule2012) == ["youtube:one": 10])
        try report(position + 0.000_1, at: 22)
        #expect(try marks(script, rule: .rule2012).isEmpty)
    }

    @Test func viewingsOfUnknownDurationNeverCrossTheThreshold() throws {
        var script = Script()
        try script.toggle(true, at: 10)
        try script.progress("v", 100, of: 0, at: 20)
        var event = PlaybackProgressed()
        event.video = "youtube:one"
        event.viewing = "v"
        event.positionSeconds = 9_999
        try script.add(event, at: 30)
        #expect(try marks(script) == ["youtube:one": 10])
    }

    @Test func seekingPastThreeQuartersClearsTheMark() throws {
        var script = Script()
        try script.toggle(true, at: 10)
        try script.progress("v", 1, at: 11)
        try script.progress("v", 99, at: 12)
        try script.progress("v", 2, at: 13)
        #expect(try marks(script).isEmpty)
    }

    @Test func lateEarlierCrossingRestoresTheMark() throws {
        var script = Script()
        try script.toggle(true, at: 7)
        try script.progress("v", 90, at: 10)
        try script.progress("v", 80, at: 5)
        let folded = try FoldedProjection(WatchLater(), script.events)
        #expect(folded.refolds == 1)
        #expect(try marks(script) == ["youtube:one": 7])
    }

    @Test func crossingClearsAllMarksOfTheVideo() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, updated: 5, watchLater: true)
        try script.broadcast("b2", created: 2, updated: 6, watchLater: true)
        try script.toggle(true, at: 7)
        #expect(try marks(script) == ["youtube:one": 5])
        try script.progress("v", 80, at: 10)
        #expect(try marks(script).isEmpty)
    }

    @Test func togglingOffClearsEarlierRemoteMarks() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, updated: 5, watchLater: true)
        try script.toggle(false, at: 10)
        #expect(try marks(script).isEmpty)
        // The mark has been set continuously since t = 5 s.
        try script.broadcast("b1", created: 1, updated: 20, liked: true, watchLater: true)
        #expect(try marks(script).isEmpty)
        try script.broadcast("b1", created: 1, updated: 30, watchLater: false)
        try script.broadcast("b1", created: 1, updated: 40, watchLater: true)
        #expect(try marks(script) == ["youtube:one": 40])
    }

    @Test func unmarkedBroadcastLosesOnlyItsOwnMark() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, updated: 5, watchLater: true)
        try script.broadcast("b2", created: 1, updated: 6, watchLater: true)
        try script.toggle(true, at: 8)
        try script.broadcast("b1", created: 1, updated: 9, watchLater: false)
        #expect(try marks(script) == ["youtube:one": 6])
        try script.broadcast("b2", created: 1, updated: 9, watchLater: false)
        #expect(try marks(script) == ["youtube:one": 8])
    }

    @Test func removedBroadcastLosesItsMark() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, updated: 5, watchLater: true)
        try script.broadcast("b1", updated: 7, removed: true)
        #expect(try marks(script) == [:])
        try script.broadcast("b1", updated: 9, watchLater: true)
        #expect(try marks(script) == ["youtube:one": 9])
    }

    @Test func observationsWithoutTheMarkFieldDoNotChangeIt() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, updated: 5, watchLater: true)
        try script.broadcast("b1", created: 1, updated: 9, title: "x")
        #expect(try marks(script) == ["youtube:one": 5])
    }

    @Test func gapInARunOfMarksRestartsTheRun() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, updated: 5, watchLater: true)
        try script.broadcast("b1", created: 1, updated: 7, watchLater: true)
        try script.broadcast("b1", created: 1, updated: 9, watchLater: true)
        try script.broadcast("b1", created: 1, updated: 6, watchLater: false)
        #expect(try FoldedProjection(WatchLater(), script.events).refolds == 1)
        #expect(try marks(script) == ["youtube:one": 7])
    }

    @Test func listIsOrderedByTheEarliestMark() throws {
        var script = Script()
        try script.toggle(true, "youtube:b", at: 2)
        try script.toggle(true, "youtube:c", at: 1)
        try script.toggle(true, "youtube:a", at: 2)
        let page = try queries(script.events).watchLater()
        #expect(page.videos.map(\.key) == ["youtube:c", "youtube:a", "youtube:b"])
    }
}

@Suite struct WatchLater2012Tests {
    @Test func onlyPositionsBeyondThreeQuartersCrossTheThreshold() throws {
        var script = Script()
        try script.toggle(true, at: 1)
        try script.progress("v", 75, at: 10)
        #expect(try marks(script, rule: .rule2012) == ["youtube:one": 1])
        try script.progress("v", 75.1, at: 11)
        #expect(try marks(script, rule: .rule2012).isEmpty)
    }

    @Test func markSetDuringAViewingIsNotClearedByIt() throws {
        var script = Script()
        try script.progress("v", 10, at: 1)
        try script.toggle(true, at: 5)
        try script.progress("v", 90, at: 10)
        #expect(try marks(script, rule: .rule2012) == ["youtube:one": 5])
        try script.progress("w", 10, at: 20)
        try script.progress("w", 90, at: 30)
        #expect(try marks(script, rule: .rule2012).isEmpty)
    }

    @Test func viewingClearsAMarkThatWasSetAgainDuringIt() throws {
        var script = Script()
        try script.toggle(true, at: 1)
        try script.progress("v", 10, at: 5)
        try script.toggle(false, at: 6)
        try script.progress("v", 80, at: 7)
        try script.toggle(true, at: 8)
        try script.progress("v", 81, at: 9)
        #expect(try marks(script, rule: .rule2012).isEmpty)
    }

    @Test func viewingClearsAMarkOnlyOnce() throws {
        var script = Script()
        try script.toggle(true, at: 1)
        try script.progress("v", 80, at: 5)
        try script.toggle(true, at: 6)
        try script.progress("v", 90, at: 7)
        #expect(try marks(script, rule: .rule2012) == ["youtube:one": 6])
    }

    @Test func onlyLaterViewingsClearARemoteMark() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, updated: 5, watchLater: true)
        try script.progress("v", 10, at: 3)
        try script.progress("v", 90, at: 4)
        try script.progress("w", 10, at: 6)
        #expect(try marks(script, rule: .rule2012) == ["youtube:one": 5])
        try script.progress("w", 90, at: 8)
        #expect(try marks(script, rule: .rule2012).isEmpty)
    }

    @Test func rulesHaveDifferentParameters() {
        #expect(
            WatchLater(rule: .rule2012).parameters != WatchLater(rule: .crossing).parameters)
    }
}
