internal import Foundation
@_spi(Core) package import TapedeckModel

/// An event that may still be replaced by a later one before it goes into the log, or none.
///
/// It stands in a small file of its own (`schema/storage/v1.md`), so that it outlives the process: a write
/// of it costs microseconds and waits for no disk.
package struct HeldEvent: SlotContent {
    package var event: ProposedEvent?

    package init(_ event: ProposedEvent? = nil) { self.event = event }

    package static let slotCount = 4_096
    private static let format: UInt32 = 1
    /// What a slot has room for besides what every event has.
    private static let partsCountMax = slotCount - 64

    /// Whether the event has room in a slot.
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
            .busy, "somebody holds events as \(name) already",
            hint: "let it end, or use another name")
    }

    package static func isDamaged(_ path: String) -> LogError {
        LogError(
            .damaged, "\(path) is damaged: the event that was held back is lost",
            hint: "delete the file")
    }

    package func slot(number: UInt64) -> [UInt8] {
        precondition(fits, "the event does not fit in its slot")
        var body: [UInt8] = []
        body.appendLittleEndian(HeldEvent.format)
        body.appendLittleEndian(number)
        body.append(event == nil ? 0 : event?.atMilliseconds == nil ? 1 : 2)
        if let event {
            body.appendLittleEndian(event.atMilliseconds ?? 0)
            body.appendLittleEndian(event.schemaVersion)
            body.append(event.retention.rawValue)
            body.appendPrefixed(event.type.name)
            body.appendVarint(UInt64(event.tags.count))
            for tag in event.tags { body.appendPrefixed(tag.text) }
            body.appendPrefixed(event.payload)
        }
        body.append(contentsOf: repeatElement(0, count: HeldEvent.slotCount - 4 - body.count))
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(body.withUnsafeBytes { crc32c($0) })
        return bytes + body
    }

    package static func read(_ slot: UnsafeRawBufferPointer) -> Slot<HeldEvent> {
        var reader = ByteReader(slot)
        guard slot.count == slotCount, let checksum = reader.littleEndian(UInt32.self),
            checksum == crc32c(UnsafeRawBufferPointer(rebasing: slot[4...])),
            let format = reader.littleEndian(UInt32.self)
        else { return .damaged }
        guard format == HeldEvent.format else { return .newerFormat(format) }
        guard let number = reader.littleEndian(UInt64.self),
            let kind = reader.littleEndian(UInt8.self)
        else { return .damaged }
        if kind == 0 { return .whole(HeldEvent(), number: number) }
        guard let at = reader.littleEndian(UInt64.self),
            let version = reader.littleEndian(UInt16.self),
            let retention = reader.littleEndian(UInt8.self),
            let type = reader.prefixed(), let count = reader.varint(),
            count <= UInt64(RecordLayout.tagsMax)
        else { return .damaged }
        var tags: [Tag] = []
        for _ in 0..<count {
            guard let text = reader.prefixed(), Tag.isWellFormed(text) else { return .damaged }
            tags.append(Tag(unchecked: String(decoding: text, as: UTF8.self)))
        }
        guard let payload = reader.prefixed() else { return .damaged }
        let event = ProposedEvent(
            type: EventType(stringLiteral: String(decoding: type, as: UTF8.self)),
            schemaVersion: version, tags: tags, atMilliseconds: kind == 2 ? at : nil,
            retention: Retention(rawValue: retention), payload: Array(payload))
        return .whole(HeldEvent(event), number: number)
    }
}

extension EventLog {
    /// Opens the file in which an event is held back under a name, which nobody else may have at the time.
    ///
    /// Throws `LogError`: `.busy`, `.usage` (no such name), `.readOnly`, `.closed`, `.diskFull`.
    @available(*, noasync)
    package func holdEvents(named name: String) throws(LogError) -> SlotFile<HeldEvent> {
        guard EventLog.isFileName(name) else {
            throw LogError(
                .usage, "\"\(name.prefix(80))\" is no name to hold events by",
                hint: EventLog.fileNameHint)
        }
        guard !options.isReadOnly else {
            throw LogError(
                .readOnly, "events of a store that is open for reading",
                hint: "open the store for writing")
        }
        try queue.beginDirectWrite()
        defer { queue.finished(1) }
        return try LogError.wrapping {
            try self.makeFolder(self.directory.held)
            return try SlotFile<HeldEvent>(self.directory.held + "/" + name)
        }
    }
}
