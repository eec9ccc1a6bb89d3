import Foundation
import TapedeckModel
import TapedeckVideo
import Testing

/// The JSON of results contains every field; unknown values are null.
@Suite struct ResultShapeTests {
    private func object(_ value: some Encodable) throws -> [String: Any] {
        let data = try JSONEncoder().encode(value)
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    private func first(_ value: some Encodable, _ list: String) throws -> [String: Any] {
        let object = try object(value)
        return try #require((object[list] as? [[String: Any]])?.first)
    }

    private func queries() throws -> VideoQueries<FoldedReader> {
        var script = Script()
        try script.broadcast("b1", created: 1)
        try script.broadcast("b2")
        try script.toggle(true, at: 2)
        try script.add("AnswerUploaded", #"{"question":"q","answer":"a"}"#)
        try script.add(
            "ShowObserved", #"{"show":1,"network":{"id":1,"countryCode":"US"}}"#)
        try script.add(
            "EpisodeScheduled", #"{"show":1,"episode":2,"airstamp":"2019-07-11T05:30:00Z"}"#)
        try script.add("CastObserved", #"{"show":1,"cast":[{"personId":1,"characterId":2}]}"#)
        return try TapedeckVideoTests.queries(script.events)
    }

    @Test func videosHaveAllFields() throws {
        let page = try queries().videos()
        #expect(Set(try object(page).keys) == ["videos", "next"])
        let video = try first(page, "videos")
        #expect(
            Set(video.keys) == [
                "key", "title", "sharer", "broadcasts", "comments", "commentCount", "newestAt",
                "watchLater", "sharerImageUrl", "thumbnailUrl", "durationSeconds", "watched",
            ])
        #expect(video["title"] is NSNull)
        #expect(video["broadcasts"] as? Int == 2)
        #expect(video["newestAt"] as? String == "2023-11-14T22:13:21.000Z")
        let comment = try #require((video["comments"] as? [[String: Any]])?.first)
        #expect(
            Set(comment.keys) == ["id", "author", "text", "at", "state", "code", "message"])
        #expect(comment["code"] is NSNull && comment["message"] is NSNull)
        #expect(comment["at"] is NSNull)
    }

    @Test func listsHaveAllFields() throws {
        let queries = try queries()
        #expect(
            Set(try first(queries.duplicates(), "videos").keys) == [
                "key", "winner", "broadcasts", "broadcastCount",
            ])
        #expect(Set(try first(queries.watchLater(), "videos").keys) == ["key", "since"])
        #expect(
            Set(try object(queries.comments(video: "youtube:one")).keys) == ["comments", "next"])
        let answer = try first(queries.answers(), "answers")
        #expect(
            Set(answer.keys) == [
                "id", "question", "questionText", "sender", "senderName", "receiver",
                "receiverName", "state", "durationSeconds", "videoUrl", "thumbnailUrl",
                "commentCount", "likeCount", "isLiked", "segments", "code", "message",
            ])
        #expect(answer["state"] as? String == "uploading")
        #expect(answer["durationSeconds"] is NSNull)
    }

    @Test func showsHaveAllFields() throws {
        let show = try object(queries().show(1))
        #expect(
            Set(show.keys) == [
                "id", "name", "network", "genres", "summary", "image", "runtimeMinutes", "episodes",
                "cast",
            ])
        let episode = try #require((show["episodes"] as? [[String: Any]])?.first)
        #expect(Set(episode.keys) == ["id", "season", "number", "name", "startsAt"])
        #expect(episode["startsAt"] as? String == "2019-07-11T05:30:00.000Z")
        let member = try #require((show["cast"] as? [[String: Any]])?.first)
        #expect(Set(member.keys) == ["person", "character", "image"])
    }

    @Test func schedulesHaveAllFields() throws {
        let week = try queries().schedule(week: "2019-07-11", scope: ScheduleScope())
        #expect(Set(try object(week).keys) == ["days", "nextChangeAt"])
        let days = try #require(try object(week)["days"] as? [[String: Any]])
        #expect(Set(days[3].keys) == ["date", "episodes"])
        let episode = try #require((days[3]["episodes"] as? [[String: Any]])?.first)
        #expect(
            Set(episode.keys) == [
                "id", "show", "showId", "name", "season", "number", "startsAt", "timeKnown",
                "endsAt", "runtimeMinutes", "network", "image", "summary",
            ])
        #expect(episode["timeKnown"] as? Bool == false)
        #expect(episode["endsAt"] is NSNull)
    }

    @Test func resultsCanBeDecodedFromTheirJSON() throws {
        let page = try queries().videos()
        let data = try JSONEncoder().encode(page)
        #expect(try JSONDecoder().decode(VideosPage.self, from: data) == page)
    }
}
