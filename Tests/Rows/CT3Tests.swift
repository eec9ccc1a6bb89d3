import Tapedeck
import TapedeckTesting
import Testing

/// CT3: A cast is fetched and stored when its show is new or updated, survives a restart, and is
/// not requested again while it is fresh.
@Suite struct CT3Tests {
    private func cast(_ people: [String], version: Int) -> String {
        let members = people.enumerated().map {
            #"{"personId":\#($0 + 1),"person":"\#($1)","characterId":9,"character":"C"}"#
        }
        return
            #"{"show":1,"showUpdated":\#(version),"cast":[\#(members.joined(separator: ","))]}"#
    }

    @Test func castsAreAvailableOfflineAfterARestart() async throws {
        let stage = try await ScheduleStage("ct3")
        try await stage.add("CastObserved", cast(["Ada", "Bob"], version: 20))
        stage.store.close()
        let store = try stage.place.open()
        let show = try await store.query { try VideoQueries($0).show(1) }
        #expect(show.cast.map(\.person) == ["Ada", "Bob"])
    }

    @Test func castsOfTheWeekAreAvailableWithoutTheRemote() async throws {
        try await TVmazeStage.run("ct3", at: "2019-07-09T16:00:00Z") { stage in
            var store = try stage.open()
            let report = try await stage.sync(store)
            #expect(report.failure == nil && report.unread == 0)
            store.close()
            let world = try stage.world
            await stage.end()
            store = try stage.open()
            let shows = Set(try await stage.week(store).map(\.showId))
            #expect(shows.count > 3)
            for id in shows {
                let show = try await store.query { try VideoQueries($0).show(id) }
                let roles = world.casts[Int(id)] ?? []
                #expect(show.cast.map(\.person) == roles.map(\.personName))
                #expect(show.cast.map(\.character) == roles.map(\.characterName))
            }
        }
    }

    /// While all data is fresh, a sync succeeds even if the remote has stopped.
    @Test func freshDataIsNotRequestedAfterARestart() async throws {
        try await TVmazeStage.run("ct3", at: "2019-07-09T16:00:00Z") { stage in
            var store = try stage.open()
            try await stage.sync(store)
            store.close()
            await stage.end()
            store = try stage.open()
            let fresh = try await stage.sync(store)
            #expect(fresh.failure == nil && fresh.fresh == 7)
            let end = try #require(fresh.freshUntil)
            #expect(end == UInt64(try time("2019-07-09T17:00:00Z").milliseconds))
            try await stage.wait(.seconds(3_600))
            let report = try await stage.sync(store)
            #expect(report.failure?.code == .offline && report.fresh == 0)
        }
    }

    @Test func newestCastWinsAsAWhole() async throws {
        let stage = try await ScheduleStage("ct3")
        try await stage.add("CastObserved", cast(["Cleo"], version: 30))
        // The older cast arrives late.
        try await stage.add("CastObserved", cast(["Ada", "Bob"], version: 20))
        #expect(try await stage.ask { try $0.show(1).cast.map(\.person) } == ["Cleo"])
    }
}
