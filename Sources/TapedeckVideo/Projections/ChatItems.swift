internal import TapedeckModel
internal import TapedeckProjections

/// The names of a chat's items; see `VideoChat`.
enum ChatItems {
    static let shown: [UInt8] = [UInt8(ascii: "m")]
    static let blocked: [UInt8] = [UInt8(ascii: "h")]
    private static let pointers: [UInt8] = [UInt8(ascii: "n")]

    static func pointer(_ number: Int64) -> RowKey {
        var bytes = pointers
        bytes.appendBigEndian(UInt64(bitPattern: number))
        return RowKey(bytes)
    }

    static func name(_ message: ChatMessageObserved) -> RowKey {
        var bytes = message.isBlocked ? blocked : shown
        bytes += place(time: message.at.milliseconds, number: message.message)
        return RowKey(bytes)
    }

    /// Returns the part of an item's name by which messages are sorted, newest first.
    static func place(time: Int64, number: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(~UInt64(bitPattern: time))
        bytes.appendBigEndian(~UInt64(bitPattern: number))
        return bytes
    }

    /// Returns the time of a message from the name of its item.
    static func time(of name: [UInt8]) -> Int64 {
        Int64(bitPattern: ~name[1..<9].bigEndianWord)
    }

    /// Returns the position that separates the messages sent at or after `time` from all earlier
    /// messages.
    static func end(of time: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(~UInt64(bitPattern: time))
        return bytes + [UInt8](repeating: 0xFF, count: 8)
    }

    static func stack(_ bytes: [UInt8]) throws(ModelError) -> ObservationStack<ChatMessageObserved>
    {
        try StateReader.read(bytes) { (reader) throws(ModelError) in
            try ObservationStack(decoding: &reader)
        }
    }

    static func bytes(_ stack: ObservationStack<ChatMessageObserved>) -> [UInt8] {
        var writer = StateWriter()
        stack.encode(into: &writer)
        return writer.bytes
    }
}
