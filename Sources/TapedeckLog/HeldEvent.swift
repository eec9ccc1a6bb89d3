internal import Foundation
@_spi(Core) package import TapedeckModel

/// An event that is not recorded yet, because a later event may replace it; `event` is nil if no
/// event is held.
///
/// A held event is stored in its own small file (`schema/storage/v1.md`), so that it survives the
/// end of the process. A write costs microseconds and does not wait for the disk.
package struct HeldEvent: SlotContent {
    package var event: ProposedEvent?

    package init(_ event: ProposedEvent? = nil) { self.event = event }

    package static let slotCount = 4_096
    package static let format: UInt32 = 1
    /// The maximum size of an event's variable parts in a slot.
    private static let partsCountMax = slotCount - 64

    /// Whether the event fits into a slot.
    package var fits: Bool {
        guard let event else { return true }
        let tags = event.tags.reduce(0) { $0 + $1.text.utf8.count + 2 }
        return event.fact == nil && event.causation == nil && event.correlation == nil
            && event.encoding == .plain
            && tags + event.type.name.utf8.count + event.payload.count
                <= HeldEvent.partsCountMax
    }

    package static func isBusy(_ name: String) -> LogError {
        LogError(
            .busy, "another recorder is already using the name \(name)",
            hint: "wait until the name is free, or use another name")
    }

    package static func isDamaged(_ path: String) -> LogError {
        LogError(
            .damaged, "\(path) is damaged; the held event is lost",
            hint: "delete the file")
    }

    package init?(decoding body: inout ByteReader) {
        guard let kind = body.littleEndian(UInt8.self) else { return nil }
        if kind == 0 {
            self.init()
            return
        }
        guard let at = body.littleEndian(UInt64.self),
            let version = body.littleEndian(UInt16.self),
            let retention = body.littleEndian(UInt8.self), let type = body.prefixed(),
            let count = body.varint(), count <= UInt64(RecordLayout.tagsMax)
        else { return nil }
        var tags: [Tag] = []
        for _ in 0..<count {
            guard let text = body.prefixed(), Tag.isWellFormed(text) else { return nil }
            tags.append(Tag(unchecked: String(decoding: text, as: UTF8.self)))
        }
        guard let payload = body.prefixed() else { return nil }
        self.init(
            ProposedEvent(
                type: EventType(stringLiteral: String(decoding: type, as: UTF8.self)),
                schemaVersion: version, tags: tags, atMilliseconds: kind == 2 ? at : nil,
                retention: Retention(rawValue: retention), payload: Array(payload)))
    }

    package func encode(into body: inout [UInt8]) {
        precondition(fits, "the event does not fit into a slot")
        body.append(event == nil ? 0 : event?.atMilliseconds == nil ? 1 : 2)
        guard let event else { return }
        body.appendLittleEndian(event.atMilliseconds ?? 0)
        body.appendLittleEndian(event.schemaVersion)
        body.append(event.retention.rawValue)
        body.appendPrefixed(event.type.name)
        body.appendVarint(UInt64(event.tags.count))
        for tag in event.tags { body.appendPrefixed(tag.text) }
        body.appendPrefixed(event.payload)
    }
}

extension EventLog {
    /// Opens the file for a held event, under a name that is not in use.
    ///
    /// Throws `LogError`: `.busy`, `.usage` (invalid name), `.readOnly`, `.closed`, `.diskFull`.
    @available(*, noasync)
    package func holdEvents(named name: String) throws(LogError) -> SlotFile<HeldEvent> {
        guard EventLog.isFileName(name) else {
            throw LogError(
                .usage, "\"\(name.prefix(80))\" is not a valid name for held events",
                hint: EventLog.fileNameHint)
        }
        guard !options.isReadOnly else {
            throw LogError(
                .readOnly, "cannot hold events for a store opened read-only",
                hint: "open the store for writing")
        }
        try queue.beginDirectWrite()
        defer { queue.finished(1) }
        return try LogError.wrapping {
            try DurableFile.makeFolder(self.directory.held)
            return try SlotFile<HeldEvent>(self.directory.held + "/" + name)
        }
    }
}
