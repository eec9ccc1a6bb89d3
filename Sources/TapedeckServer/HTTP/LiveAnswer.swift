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
        let messages = try live.connect(space, try await storage.head(of: space))
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream"],
            body: ResponseBody { writer in
                var last: SpaceHead?
                for await message in messages {
                    // Repeating the head keeps the connection alive and replaces a message that was
                    // lost in transit. If the token has been revoked in the meantime, the
                    // connection ends.
                    if message.head == last {
                        guard (try? await storage.space(forToken: token)) == space else { break }
                    }
                    metrics.countSent(message.text.readableBytes)
                    try await writer.write(message.text)
                    last = message.head
                }
                try await writer.finish(nil)
            })
    }
}

/// A head as a server-sent event; the connections of a space share the text of each repetition.
struct LiveMessage: Sendable {
    let head: SpaceHead
    let text: ByteBuffer

    init(_ head: SpaceHead) {
        self.head = head
        text = ByteBuffer(
            string: """
                event: head
                id: \(head.position)
                data: {"lineage":"\(head.lineage)","head":\(head.position)}


                """)
    }
}
