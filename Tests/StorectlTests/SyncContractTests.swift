import Foundation
import TestSupport
import Testing

/// The commands for servers print their reports as described in `schema/cli.md`.
@Suite(.offTasks) struct SyncContractTests {
    static let commands = [
        "serve", "sync", "outbox list", "explain", "token create", "token list", "token revoke",
    ]

    private func check(
        _ command: String, _ run: Storectl.Run, mayBeEmpty: [String] = [],
        location: SourceLocation = #_sourceLocation
    ) throws {
        let shape = try #require(
            try Contract.read()[command]?.shape, sourceLocation: location)
        let document = try run.document
        #expect(shape.differences(from: document) == [], sourceLocation: location)
        let empty = shape.emptyLists(in: document).filter { !mayBeEmpty.contains($0) }
        #expect(empty == [], "these lists were not compared", sourceLocation: location)
    }

    @Test func reportsHaveTheDocumentedShapes() throws {
        let server = try ServeProcess()
        let store = try Storectl.empty()
        try store.succeed("append", "WatchLaterToggled", #"{"video":"vimeo:1","isOn":true}"#)
        let target = [server.url, "--token-file", server.tokenFile, "--json"]
        try check(
            "sync", store.run(["sync"] + target),
            mayBeEmpty: ["$.refused", "$.waiting"])
        try check("explain", store.run("explain", "1", "--json"), mayBeEmpty: ["$.remotes"])
        try check("status", store.run("status", "--json"), mayBeEmpty: ["$.remotes"])
        try store.succeed("append", "WatchLaterToggled", #"{"video":"vimeo:2","isOn":true}"#)
        try check("outbox list", store.run("outbox", "--json"))

        let data = ["--data", server.data, "--json"]
        let made = try store.run(["token", "create", "phone"] + data)
        try check("token create", made)
        try check("token list", store.run(["token", "list"] + data))
        let id = try #require(try made.document["id"]?.text)
        try check("token revoke", store.run(["token", "revoke", id] + data))

        // Without the server, the sync fails and reports waiting events.
        let serving = try server.end()
        try check("serve", serving)
        let failed = try store.run(["sync"] + target)
        #expect(failed.exit == 7)
        try check("sync", failed, mayBeEmpty: ["$.refused"])
    }
}
