internal import TapedeckModel
internal import TapedeckProjections

/// How the broadcasts of a video lie among its items: by id, and by (time, id).
///
/// | name | value |
/// |---|---|
/// | `b` id | where the broadcast stands in the other list |
/// | `c` time id | what is known of the broadcast |
///
/// The time is that of its creation in Unix milliseconds, big-endian; 0 where it is not known, so
/// such broadcasts come first.
enum BroadcastItems {
    static let byID: [UInt8] = [UInt8(ascii: "b")]
    static let byTime: [UInt8] = [UInt8(ascii: "c")]
    /// Comments posted here; see `PostedComment.itemName`.
    static let posted: [UInt8] = [UInt8(ascii: "l")]

    static func name(_ place: BroadcastPlace) -> RowKey { name(byTime, place) }

    static func name(_ prefix: [UInt8], _ place: BroadcastPlace) -> RowKey {
        var bytes = prefix
        bytes.reserveCapacity(9 + place.id.count)
        bytes.appendBigEndian(UInt64(bitPattern: place.time))
        bytes.append(contentsOf: place.id)
        return RowKey(bytes)
    }

    /// The name of a broadcast in the list by time, its id taken from a payload.
    static func name(_ time: Int64, _ id: WireField, of payload: RawSpan) -> RowKey {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(9 + id.count)
        bytes.append(contentsOf: byTime)
        bytes.appendBigEndian(UInt64(bitPattern: time))
        payload.append(id, to: &bytes)
        return RowKey(bytes)
    }

    /// The place that a name in either list by time tells; nil where it is none.
    static func place(name: [UInt8]) -> BroadcastPlace? {
        guard name.count > 9 else { return nil }
        return BroadcastPlace(
            time: Int64(bitPattern: name[1..<9].bigEndianWord), id: Array(name[9...]))
    }
}

/// Where a broadcast or a comment stands among those of its video.
struct BroadcastPlace: Equatable, Comparable {
    /// Unix milliseconds; 0 where not known.
    var time: Int64
    /// The id's UTF-8.
    var id: [UInt8]

    static func < (left: BroadcastPlace, right: BroadcastPlace) -> Bool {
        left.time != right.time
            ? left.time < right.time : left.id.lexicographicallyPrecedes(right.id)
    }
}

/// Which of a video's broadcasts stands for all of them.
public enum WinnerRule: String, Sendable {
    /// The one shared first, as in the app of 2012.
    case oldest
    /// The one shared last, as from 2013 on.
    case newest

    /// Whether `challenger` takes the place of `holder`.
    func prefers(_ challenger: BroadcastPlace, to holder: BroadcastPlace) -> Bool {
        self == .oldest ? challenger < holder : holder < challenger
    }

    /// Whether one of another time does.
    func prefers(_ challenger: Int64, to holder: Int64) -> Bool {
        self == .oldest ? challenger < holder : holder < challenger
    }
}
