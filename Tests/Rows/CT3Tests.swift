import Tapedeck
import TapedeckTesting
import Testing

/// CT3: a cast is kept, and survives a restart.
@Suite struct CT3Tests {
    private func cast(_ people: [String], version: Int) -> String {
        let members = people.enumerated().map {
            #"{"personId":\#($0 + 1),"person":"\#($1)","characterId":9,"character":"C"}"#
        }
        return
            #"{"show":1,"showUpdated":\#(version),"cast":[\#(members.joined(separator: ","))]}"#
    }

    @Test func aCastIsThereOfflineBehindARestart() async throws {
        let stage = try await ScheduleStage("ct3")
        try await stage.add("CastObserved", cast(["Ada", "Bob"], version: 20))
        stage.store.close()
        let store = try stage.place.open()
        let show = try await store.query { try VideoQueries($0).show(1) }
        #expect(show.cast.map(\.person) == ["Ada", "Bob"])
    }

    @Test func theNewestCastCountsAsAWhole() async throws {
        let stage = try await ScheduleStage("ct3")
        try await stage.add("CastObserved", cast(["Cleo"], version: 30))
        // It comes late.
        try await stage.add("CastObserved", cast(["Ada", "Bob"], version: 20))
        #expect(try await stage.ask { try $0.show(1).cast.map(\.person) } == ["Cleo"])
    }
}
