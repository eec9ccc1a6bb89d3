public import Tapedeck

/// One thing of any kind that happened to a made-up user, as `MixedActivityGenerator` makes it.
public struct MixedActivity: Sendable {
    /// Where it happened, or was heard of.
    public var device: Activity.Device
    /// What is to be recorded; a sighting says when it was made.
    public var proposal: ProposedEvent

    /// Appends the line that `storectl append --file` reads, and a newline; see `Activity.appendLine(to:)`.
    ///
    /// A line has no place for the time of a sighting: where it is read, that is not known.
    ///
    /// Throws `ModelError` where the payload cannot be written; for what the generator makes, never.
    public func appendLine(to bytes: inout [UInt8]) throws {
        let payload = try EventCatalogue.video.json(
            type: proposal.type, version: proposal.schemaVersion, payload: proposal.payload)
        bytes.add(#"{"type":""#)
        bytes.append(contentsOf: proposal.type.name.utf8)
        bytes.add(#"","payload":"#)
        bytes.append(contentsOf: (payload ?? "{}").utf8)
        if let time = proposal.atMilliseconds {
            bytes.add(#","at":""#)
            bytes.addTime(seconds: time / 1_000, milliseconds: time % 1_000)
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.add(#","origin":""#)
        bytes.append(contentsOf: device.name.utf8)
        bytes.add("\"}\n")
    }
}
