import Foundation
import TapedeckTesting
import Testing

/// `storectl simulate shelby` as a process; stores connect to it as `home`.
final class ShelbyProcess: SimulatorProcess {
    /// A video observed on the remote.
    struct Video {
        let key: String
        /// The broadcast that represents the video.
        let broadcast: String
    }

    /// The token and the token secret of the sample account, which may occur only in the login
    /// file.
    var secrets: [String] { ["token", "tokenSecret"].compactMap { document[$0]?.text } }
    /// The path of a file with the secrets, for `login`.
    var tokenFile: String { storectl.directory.path + "/token" }

    init(seed: Int = 7) throws {
        try super.init("shelby", seed: seed)
        try #require(secrets.count == 2)
        _ = try storectl.file("token", (secrets.joined(separator: "\n") + "\n").utf8)
    }

    /// Returns a store that has read everything from the remote.
    func connectedStore(through url: String? = nil) throws -> Storectl {
        let store = try Storectl.empty()
        try store.succeed("remote", "add", "home", "shelby", url ?? self.url)
        try store.succeed("login", "home", "--token-file", tokenFile)
        try store.succeed("sync", "home")
        return store
    }

    /// The state of a video on the remote: whether any of its broadcasts is liked or marked.
    struct Standing: Equatable {
        var isLiked = false
        var isMarked = false
    }

    /// The states of the account's videos, by key.
    var standings: [String: Standing] {
        get throws {
            func list(_ path: String) throws -> [OrderedJSON] {
                let request = SimulatedRequest("GET", path, headers: ["Host": LocalSocket.host])
                    .signed(
                        (secrets[0], secrets[1]), at: SimulatorServer.Configuration.systemTime(),
                        nonce: UUID().uuidString)
                let body = try LocalSocket.get(
                    path, port: port, authorization: request.header("Authorization"))
                let document = try OrderedJSON(parsing: String(decoding: body, as: UTF8.self))
                return try #require(document.list)
            }
            let channel = try list("/v2/channels.json").first { $0["public"]?.number == 0 }
            let id = try #require(channel?["_id"]?.text)
            var standings: [String: Standing] = [:]
            for row in try list("/v2/channels/\(id)/broadcasts.json") {
                let provider = try #require(row["video_provider_name"]?.text)
                let video = try #require(row["video_id_at_provider"]?.text)
                let key = "\(provider):\(video)"
                var standing = standings[key] ?? Standing()
                if row["liked_by_owner"]?.number == 1 { standing.isLiked = true }
                if row["owner_watch_later"]?.number == 1 { standing.isMarked = true }
                standings[key] = standing
            }
            return standings
        }
    }
}

extension Storectl {
    /// Returns every video in the store, newest first.
    func videos() throws -> [ShelbyProcess.Video] {
        let page = try run("query", "videos", "--limit", "500", "--json").document
        let winners = try Dictionary(
            uniqueKeysWithValues: #require(
                run("query", "duplicates", "--limit", "500", "--json").document["videos"]?.list
            ).map { (try #require($0["key"]?.text), try #require($0["winner"]?.text)) })
        var broadcasts: [String: String] = [:]
        for line in try run("log", "--type", "BroadcastReceived", "--json").stdout
            .split(separator: "\n")
        {
            let payload = try OrderedJSON(parsing: String(line))["payload"]
            let key = try #require(payload?["video"]?.text)
            broadcasts[key] = try #require(payload?["broadcast"]?.text)
        }
        return try #require(page["videos"]?.list).map { video in
            let key = try #require(video["key"]?.text)
            return ShelbyProcess.Video(
                key: key, broadcast: try winners[key] ?? #require(broadcasts[key]))
        }
    }

    /// Records an event and returns its id.
    @discardableResult
    func append(_ type: String, _ payload: String) throws -> String {
        let run = try succeed("append", type, payload, "--json")
        return try #require(try run.document["first"]?["id"]?.text)
    }
}

extension LocalSocket {
    /// The host name to use in requests.
    static let host = "127.0.0.1"

    /// Returns the body of the response to a GET request.
    static func get(_ path: String, port: Int, authorization: String? = nil) throws -> Data {
        let file = try #require(connected(to: port))
        defer { close(file) }
        let login = authorization.map { "Authorization: \($0)\r\n" } ?? ""
        let request =
            "GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\(login)Connection: close\r\n\r\n"
        _ = write(Array(request.utf8)[...], to: file)
        var answer = Data()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(file, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            answer.append(contentsOf: buffer.prefix(count))
        }
        let head = try #require(answer.range(of: Data("\r\n\r\n".utf8)))
        return answer[head.upperBound...]
    }
}

/// A proxy that loses the responses to some requests.
///
/// The server executes these requests, but the connection ends before the response arrives.
final class AnswerLoss: Sendable {
    private let listener: Int32
    let port: Int

    /// - Parameters:
    ///   - needle: The string that identifies requests whose responses are lost.
    ///   - meanwhile: Runs when such a request arrives; its response is then not lost.
    init(
        to target: Int, losing needle: String, meanwhile: (@Sendable () -> Void)? = nil
    ) throws {
        (listener, port) = try LocalSocket.listening()
        Thread.detachNewThread { [listener] in
            while true {
                let device = accept(listener, nil, nil)
                guard device >= 0 else { return }
                Thread.detachNewThread { AnswerLoss.carry(device, target, needle, meanwhile) }
            }
        }
    }

    var url: String { "http://127.0.0.1:\(port)" }

    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func carry(
        _ device: Int32, _ target: Int, _ needle: String, _ meanwhile: (@Sendable () -> Void)?
    ) {
        defer { LocalSocket.reset(device) }
        guard let server = LocalSocket.connected(to: target) else { return }
        defer { LocalSocket.reset(server) }
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        var isLost = false
        while true {
            let ready = LocalSocket.readable(device, server, milliseconds: 300_000)
            guard ready.first || ready.second else { return }
            if ready.first {
                let count = recv(device, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                if String(decoding: buffer.prefix(count), as: UTF8.self).contains(needle) {
                    if let meanwhile { meanwhile() } else { isLost = true }
                }
                guard LocalSocket.write(buffer.prefix(count), to: server) else { return }
            }
            if ready.second {
                let count = recv(server, &buffer, buffer.count, 0)
                guard count > 0, !isLost else { return }
                guard LocalSocket.write(buffer.prefix(count), to: device) else { return }
            }
        }
    }
}
