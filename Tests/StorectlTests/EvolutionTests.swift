import Foundation
import Tapedeck
import TestSupport
import Testing

/// Events from a newer program are listed, exported and synced, but not folded.
@Suite(.offTasks) struct EvolutionTests {
    /// Returns a store with two events of an unknown type and one event of an unknown version.
    private func store() async throws -> Storectl {
        let storectl = try Storectl.empty()
        let log = try EventLog(opening: storectl.store)
        defer { log.close() }
        let video = try Tag("video", "youtube:a")
        try await log.append([
            try ProposedEvent(WatchLaterToggled.with { ($0.video, $0.isOn) = ("youtube:b", true) }),
            ProposedEvent(type: "VideoRated", tags: [video], payload: [1, 2, 3]),
            ProposedEvent(
                type: WatchLaterToggled.eventType, schemaVersion: 2, tags: [video], payload: [0xFF]),
            ProposedEvent(type: "VideoRated", tags: [video], payload: []),
        ])
        return storectl
    }

    private func checkKept(_ storectl: Storectl) throws {
        let lines = try storectl.succeed("log", "--json").stdout.split(separator: "\n").map {
            try OrderedJSON(parsing: String($0))
        }
        #expect(
            lines.compactMap { $0["type"]?.text } == [
                "WatchLaterToggled", "VideoRated", "WatchLaterToggled", "VideoRated",
            ])
        #expect(lines.map { $0["payloadBase64"]?.text } == [nil, "AQID", "/w==", ""])
        #expect(lines.dropFirst().allSatisfy { $0["payload"] == .null })
        let page = try storectl.succeed("query", "watch-later", "--json").document
        #expect(page["videos"]?.list?.compactMap { $0["key"]?.text } == ["youtube:b"])
        #expect(try storectl.succeed("verify", "--json").document["intact"] == .bool(true))
        try storectl.succeed("replay", "--verify")
    }

    @Test func unknownEventsAreListedAndReported() async throws {
        let storectl = try await store()
        try checkKept(storectl)
        // `--type` accepts types that occur in the store.
        let rated = try storectl.succeed("log", "--type", "VideoRated").stdout
        #expect(rated.split(separator: "\n").count == 2)
        let document = try storectl.succeed("doctor", "--json").document
        let finding = try #require(
            document["findings"]?.list?.first { $0["check"]?.text == "event types" })
        #expect(finding["level"]?.text == "warning")
        #expect(
            finding["message"]?.text
                == "3 events of unknown type or version: 2 VideoRated, 1 WatchLaterToggled (version 2)"
        )
        #expect(document["healthy"] == .bool(true))
        let shown = try storectl.succeed("log", "--type", "WatchLaterToggled", "--json").stdout
        let id = try #require(
            try OrderedJSON(parsing: String(shown.split(separator: "\n")[1]))["id"]?.text)
        let event = try storectl.succeed("show", id, "--json").document
        #expect(event["schemaVersion"]?.number == 2)
        #expect(event["payload"] == .null)
    }

    @Test func unknownEventsAreExportedImportedAndSynced() async throws {
        let storectl = try await store()
        let file = storectl.directory.path + "/export"
        try storectl.succeed("export", file)
        let imported = try Storectl.empty()
        #expect(try imported.succeed("import", file, "--json").document["recorded"]?.number == 4)
        try checkKept(imported)

        let server = try ServeProcess()
        let synced = try Storectl.empty()
        #expect(try storectl.sync(server.url, server).exit == 0)
        #expect(try synced.sync(server.url, server).exit == 0)
        try checkKept(synced)
    }
}
