internal import Foundation
internal import Tapedeck

/// An event as it appears in reports.
struct EventReport {
    let event: EventEnvelope

    init(_ event: EventEnvelope) { self.event = event }

    /// The payload as JSON; nil if this program does not know the type or cannot read the payload.
    var payload: String? {
        guard event.encoding == .plain else { return nil }
        do {
            return try RemoteEvents.json(
                type: event.type, version: event.schemaVersion, payload: event.payload)
                ?? EventCatalogue.video.json(
                    type: event.type, version: event.schemaVersion, payload: event.payload)
        } catch {
            return nil
        }
    }

    /// The JSON document that `storectl log` prints.
    var json: JSON {
        let payload = payload
        let document: JSON = [
            "id": .text(event.id.description), "position": .init(event.position.rawValue),
            "type": .text(event.type.name), "at": .text(TimeArgument.text(event.stamp)),
            "tags": .list(event.tags.map { .text($0.text) }),
            "payload": payload.map { .raw($0) } ?? .null,
        ]
        // An unreadable payload is still printed, as Base64.
        return payload != nil ? document : document.adding("payloadBase64", .text(base64))
    }

    var base64: String { Data(event.payload).base64EncodedString() }

    /// The payload as text for people to read.
    var payloadText: String {
        payload ?? "\(event.payload.count) bytes that this program cannot read"
    }
}
