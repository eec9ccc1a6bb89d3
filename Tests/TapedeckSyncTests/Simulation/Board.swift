import Foundation
import TapedeckModel
import TapedeckProjections
@testable import TapedeckSync
import TapedeckTesting

/// A remote that does not know event ids: posts with increasing ids, shouts that cannot be looked
/// up, and one flag per wall.
struct Board {
    struct Post {
        var id: Int
        var wall: String
        var text: String
    }

    private(set) var posts: [Post] = []
    private(set) var shouts: [String: Int] = [:]
    private(set) var flags: [String: String] = [:]

    mutating func answer(_ request: RemoteRequest) -> RemoteResponse {
        let parts = request.path.split(separator: "/").map(String.init)
        guard parts.count == 2, case .form(let fields) = request.body else {
            return RemoteResponse(status: 200, body: page(of: parts.last ?? ""))
        }
        let text = fields.first?.value ?? ""
        switch parts[0] {
        case "posts": posts.append(Post(id: posts.count + 1, wall: parts[1], text: text))
        case "shouts": shouts[text, default: 0] += 1
        default: flags[parts[1]] = text
        }
        return RemoteResponse(status: 201, body: Array("\(posts.count)".utf8))
    }

    /// Returns one line for each post on a wall, with the post's id and text.
    private func page(of wall: String) -> [UInt8] {
        Array(
            posts.filter { $0.wall == wall || wall == "posts" }
                .map { "\($0.id) \($0.text)" }.joined(separator: "\n").utf8)
    }
}

/// Connects to a `Board`: `PostWanted` can be looked up, `ShoutWanted` cannot, and `FlagWanted` is
/// idempotent.
struct BoardConnector: Connector {
    static let outboxes = [
        Outbox(of: "wall", inserts: ["PostWanted", "ShoutWanted"], registers: ["FlagWanted"])
    ]

    /// Whether an interrupted request is treated as never sent.
    var hasPlantedBug = false

    var manifest: ConnectorManifest {
        ConnectorManifest(
            system: "board", rateCount: 1_000, rateWindow: 1_000,
            // The settling time is longer than a request can be in flight.
            settling: 20_000, freshness: [10_000], intentKinds: ["wall"])
    }

    var lookups: [any Projection] { [] }

    func login(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        .done(RemoteAccount(user: "me", token: "t"))
    }

    func authorize(
        _ request: inout RemoteRequest, _ account: RemoteAccount, _ moment: RequestMoment
    ) {}

    func feeds(_ account: RemoteAccount, now: UInt64) -> [RemotePage] { [RemotePage("posts")] }

    func request(for page: RemotePage, _ account: RemoteAccount) -> RemoteRequest {
        RemoteRequest("GET", "/posts")
    }

    func read(
        _ response: RemoteResponse, of page: RemotePage, _ account: RemoteAccount
    ) throws(SyncFailure) -> RemoteContent {
        var content = RemoteContent()
        do {
            content.observations = try Self.posts(response).map { post in
                ProposedEvent(
                    type: "PostSeen", tags: [try Tag("wall", "all")],
                    fact: ObservedFact(
                        entity: "post/\(post.id)", content: Array(post.text.utf8), version: 0,
                        observedAt: nil), payload: Array(post.text.utf8))
            }
        } catch {
            throw SyncFailure(.remoteError, "\(String(describing: error))")
        }
        return content
    }

    private static func posts(_ response: RemoteResponse) -> [(id: Int, text: String)] {
        String(decoding: response.body, as: UTF8.self).split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let id = Int(parts[0]) else { return nil }
            return (id, String(parts[1]))
        }
    }

    func plan(
        _ intent: Intent, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> DeliveryPlan {
        let text = String(decoding: intent.event.payload, as: UTF8.self)
        let wall = String(intent.key.name)
        func request(_ kind: String) -> RemoteRequest {
            RemoteRequest("POST", "/\(kind)/\(wall)", body: .form([.init("text", text)]))
        }
        switch intent.event.type {
        case "PostWanted":
            return .deliver([
                Delivery(
                    safety: .probe, request: request("posts"),
                    probe: RemoteRequest("GET", "/posts/\(wall)"))
            ])
        case "ShoutWanted":
            return .deliver([Delivery(safety: .once, request: request("shouts"))])
        default: return .deliver([Delivery(safety: .natural, request: request("flags"))])
        }
    }

    func confirm(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent,
        _ account: RemoteAccount
    ) throws(SyncFailure) -> Confirmation {
        Confirmation(remoteID: String(decoding: response.body, as: UTF8.self))
    }

    func find(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent, baseline: String,
        taken: Set<String>, _ account: RemoteAccount
    ) throws(SyncFailure) -> ProbeResult {
        // In the simulation, the text of every intent is unique.
        let text = String(decoding: intent.event.payload, as: UTF8.self)
        let found = Self.posts(response).first { $0.text == text }
        return found.map { .found(Confirmation(remoteID: "\($0.id)")) } ?? .missing
    }
}
