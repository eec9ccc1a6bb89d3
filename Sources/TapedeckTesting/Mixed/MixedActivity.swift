public import Tapedeck

/// One action of any kind by a simulated user, as `MixedActivityGenerator` generates it.
public struct MixedActivity: Sendable {
    /// The device that recorded the activity.
    public var device: Activity.Device
    /// The event to record; an observation includes the time of observation.
    public var proposal: ProposedEvent

    /// Appends a line in the format of `storectl append --file`, including the newline; see
    /// `Activity.appendLine(to:)`.
    ///
    /// A line has no field for the time of observation, so that time is unknown after import.
    ///
    /// Throws `ModelError` if the payload cannot be written, which never happens for activity from
    /// the generator.
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
