import Foundation
import TapedeckTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A simulator served over real HTTP.
struct SimulatorServerTests {
    /// Runs a server while `body` runs.
    private func serve(
        _ simulator: any RemoteSimulator, _ body: (String) async throws -> Void
    ) async throws {
        let (urls, listens) = AsyncStream.makeStream(of: String.self)
        let server = SimulatorServer(
            simulator,
            configuration: .init(
                endsOnSignals: false, now: { Moments.start }, onListening: { listens.yield($0) }))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { listens.finish() }
                try await server.run()
            }
            let url = try #require(await urls.first { _ in true })
            try await body(url)
            await server.shutDown()
            try await group.waitForAll()
        }
    }

    private func send(
        _ method: String, _ url: String, headers: [String: String] = [:], body: String? = nil
    ) async throws -> (status: Int, headers: HTTPURLResponse, text: String) {
        var request = URLRequest(url: try #require(URL(string: url)))
        request.httpMethod = method
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        request.httpBody = body.map { Data($0.utf8) }
        let (data, response) = try await URLSession.shared.data(for: request)
        let answer = try #require(response as? HTTPURLResponse)
        return (answer.statusCode, answer, String(decoding: data, as: UTF8.self))
    }

    private let formType = ["Content-Type": "application/x-www-form-urlencoded"]

    @Test func effectsOfAClientCanBeReadThroughTheServer() async throws {
        try await serve(WhaleSimulator(seed: 1, at: Moments.start)) { url in
            let form = "email=ada%40example.org&password=difference+engine"
            let login = try await send(
                "POST", "\(url)/api/v1/sessions", headers: formType, body: form)
            #expect(login.status == 200)
            let token = try #require(login.headers.value(forHTTPHeaderField: "Authorization"))
            let comment = try await send(
                "POST", "\(url)/api/v1/answers/1/comments",
                headers: formType.merging(["Authorization": token]) { $1 }, body: "comment=Ahoy")
            #expect(comment.status == 201)
            let rows = try await send("GET", "\(url)/_simulator/effects").text
            let effects = try JSONDecoder().decode([SimulatorEffect].self, from: Data(rows.utf8))
            #expect(effects.map(\.text) == ["Ahoy"])

            #expect(try await send("GET", "\(url)/api/v1/nothing").status == 400)
            let strange = try await send("GET", "\(url)/_simulator/violations").text
            #expect(strange.contains("/api/v1/nothing"))

            let moved = try await send("POST", "\(url)/_simulator/advance?ms=5000")
            #expect(moved.text == "{\"now\":\(Moments.start + 5_000)}")
            #expect(
                moved.headers.value(forHTTPHeaderField: "Date") == "Fri, 01 Jun 2012 12:00:05 GMT")
            #expect(try await send("POST", "\(url)/_simulator/advance?ms=-1").status == 400)
            #expect(try await send("POST", "\(url)/_simulator/expire-tokens").status == 204)
            let late = try await send(
                "GET", "\(url)/api/v1/sessions", headers: ["Authorization": token])
            #expect(late.status == 401 && late.text.isEmpty)
        }
    }

    @Test func cutEndsTheConnectionAndCalmEndsTheFaults() async throws {
        var adversary = SimulatorAdversary()
        adversary.cutAfterRate = 1
        let shelby = ShelbyV2Simulator(seed: 1, at: Moments.start, adversary: adversary)
        let id = shelby.world.broadcasts[0].id
        try await serve(shelby) { url in
            let port = try #require(URL(string: url)?.port)
            func headers(
                _ method: String, _ path: String, _ form: KeyValuePairs<String, String>? = nil
            ) -> [String: String] {
                let request = SimulatedRequest(
                    method, path, headers: ["Host": "127.0.0.1:\(port)"], form: form
                ).signed(
                    (SimulatorAccount.oauthToken, SimulatorAccount.oauthSecret),
                    at: Moments.start, nonce: method)
                return formType.merging(["Authorization": request.header("Authorization") ?? ""]) {
                    $1
                }
            }
            let broadcast = "/v2/broadcasts/\(id).json"
            let login = headers("PUT", broadcast, ["liked_by_owner": "true"])
            await #expect(throws: URLError.self) {
                _ = try await send(
                    "PUT", url + broadcast, headers: login, body: "liked_by_owner=true")
            }
            #expect(try await send("GET", "\(url)/_simulator/effects").text.contains(id))
            #expect(try await send("POST", "\(url)/_simulator/calm").status == 204)
            let path = "/v2/users.json"
            let users = try await send("GET", url + path, headers: headers("GET", path))
            #expect(users.status == 200)
        }
    }

    @Test func occupiedPortIsReported() async throws {
        try await serve(WhaleSimulator(world: WhaleWorld())) { url in
            let port = try #require(URL(string: url)?.port)
            let other = SimulatorServer(
                WhaleSimulator(world: WhaleWorld()),
                configuration: .init(port: port, endsOnSignals: false))
            await #expect(throws: SimulatorServerError.self) { try await other.run() }
        }
    }
}
