internal import TapedeckModel
internal import TapedeckProjections

/// The names and values of the items described in `ViewCounts`.
enum ViewItems {
    static let confirmed: [UInt8] = [UInt8(ascii: "c")]
    private static let told: [UInt8] = [UInt8(ascii: "t")]

    static func viewing(_ opening: VideoOpened) -> RowKey { viewing(opening.viewing) }
    static func viewing(_ viewing: String) -> RowKey { RowKey([UInt8(ascii: "v")] + viewing.utf8) }
    static func window(_ opening: VideoOpened) -> RowKey {
        RowKey([UInt8(ascii: "w")] + opening.viewer.utf8)
    }
    static func opening(_ id: [UInt8]) -> RowKey { RowKey([UInt8(ascii: "a")] + id) }
    static func outcome(_ id: [UInt8]) -> RowKey { RowKey([UInt8(ascii: "o")] + id) }
    static func other(_ id: [UInt8]) -> RowKey { RowKey([UInt8(ascii: "b")] + id) }
    static func confirmed(_ time: UInt64, _ id: [UInt8]) -> RowKey {
        var bytes = confirmed
        bytes.appendBigEndian(time)
        return RowKey(bytes + id)
    }

    /// Returns the name prefix of all reports that were sent in place of the opening `counting`,
    /// which started a window.
    ///
    /// The prefix ends with a zero byte, which no id contains.
    static func told(_ counting: [UInt8]) -> RowKey { RowKey(told + counting + [0]) }
    static func told(_ counting: [UInt8], _ time: UInt64, _ id: [UInt8]) -> RowKey {
        var bytes = told + counting + [0]
        bytes.appendBigEndian(time)
        return RowKey(bytes + id)
    }

    static func time(_ name: [UInt8]) -> UInt64 { name[1..<9].bigEndianWord }

    /// Returns the time encoded in the item name of a sent report.
    static func time(_ name: [UInt8], of counting: [UInt8]) -> UInt64 {
        let begin = told.count + counting.count + 1
        return name[begin..<begin + 8].bigEndianWord
    }

    /// A report and the opening counted for it, which may be the report itself.
    struct Report: Equatable {
        var order: FoldOrder
        var counting: [UInt8]

        init(_ order: FoldOrder, counting: [UInt8]) {
            self.order = order
            self.counting = counting
        }

        init?(item bytes: [UInt8]?) {
            let count = FoldOrder.encodedCount
            guard let bytes, let order = FoldOrder(item: Array(bytes.prefix(count))) else {
                return nil
            }
            self.init(order, counting: Array(bytes.dropFirst(count)))
        }

        var item: [UInt8] { order.item + counting }
    }

    /// The status of an opening that started a window.
    enum Standing: Equatable {
        /// No remote can have counted the opening yet.
        case waiting
        /// The opening was sent at this time, in Unix milliseconds, and the remote's count has not
        /// been read since.
        case confirmed(UInt64)
        /// The remote's count includes the opening.
        case counted
        /// No remote will ever count the opening.
        case void

        var isUncounted: Bool {
            switch self {
            case .waiting, .confirmed: true
            case .counted, .void: false
            }
        }

        init(decoding bytes: [UInt8]) throws(ModelError) {
            self = try StateReader.read(bytes) { (reader) throws(ModelError) in
                switch try reader.uint64() {
                case 0: .waiting
                case 1: .confirmed(try reader.uint64())
                case 2: .counted
                default: .void
                }
            }
        }

        var encoded: [UInt8] {
            var writer = StateWriter()
            switch self {
            case .waiting: writer.add(UInt64(0))
            case .confirmed(let at):
                writer.add(UInt64(1))
                writer.add(at)
            case .counted: writer.add(UInt64(2))
            case .void: writer.add(UInt64(3))
            }
            return writer.bytes
        }
    }
}
