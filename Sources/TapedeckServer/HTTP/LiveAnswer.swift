internal import Foundation
internal import Hummingbird
internal import NIOCore
internal import TapedeckModel

/// Streams new heads to one connection, as server-sent events.
struct LiveAnswer {
    let storage: any ServerStorage
    let live: LiveConnections
    let metrics: ServerMetrics
    let space: SpaceID
    let token: String

    func response() async throws -> Response {
        let heads = try live.connect(space, try await storage.head(of: space))
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream"],
            body: ResponseBody { writer in
                var last: SpaceHead?
                for await head in heads {
                    // Repeating the head keeps the connection alive and replaces a message that was
                    // lost in transit. If the token has been revoked in the meantime, the
                    // connection ends.
                    if head == last {
                        guard (try? await storage.space(forToken: token)) == space else { break }
                    }
                    let text = LiveAnswer.text(head)
                    metrics.countSent(text.utf8.count)
                    try await writer.write(ByteBuffer(string: text))
                    last = head
                }
                try await writer.finish(nil)
            })
    }

    static func text(_ head: SpaceHead) -> String {
        """
        event: head
        id: \(head.position)
        data: {"lineage":"\(head.lineage)","head":\(head.position)}


        """
    }
}
