internal import TapedeckModel
internal import TapedeckProjections

/// The names of the items for a video's broadcasts, by id and by time.
///
/// | name | value |
/// |---|---|
/// | `b` id | the creation time of the broadcast |
/// | `c` time id | the merged observations of the broadcast: `BroadcastRecord` |
/// | `x` id | the same for a broadcast that the remote no longer has |
///
/// The time is the creation time of the broadcast in Unix milliseconds, big-endian. The time is 0
/// if unknown, so broadcasts without a time come first.
enum BroadcastItems {
    static let byID: [UInt8] = [UInt8(ascii: "b")]
    static let byTime: [UInt8] = [UInt8(ascii: "c")]
    static let removed: [UInt8] = [UInt8(ascii: "x")]
    /// The prefix of the items for posted comments; see `PostedComment.itemName`.
    static let posted: [UInt8] = [UInt8(ascii: "l")]

    static func name(_ place: BroadcastPlace) -> RowKey { name(byTime, place) }

    /// Returns the name of the item of an existing or a removed broadcast.
    static func name(_ place: BroadcastPlace, isRemoved: Bool) -> RowKey {
        isRemoved ? RowKey(removed + place.id) : name(place)
    }

    static func name(_ prefix: [UInt8], _ place: BroadcastPlace) -> RowKey {
        var bytes = prefix
        bytes.reserveCapacity(9 + place.id.count)
        bytes.appendBigEndian(UInt64(bitPattern: place.time))
        bytes.append(contentsOf: place.id)
        return RowKey(bytes)
    }

    /// Returns the name of the `c` item of a broadcast whose id is in a payload.
    static func name(_ time: Int64, _ id: WireField, of payload: RawSpan) -> RowKey {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(9 + id.count)
        bytes.append(contentsOf: byTime)
        bytes.appendBigEndian(UInt64(bitPattern: time))
        payload.append(id, to: &bytes)
        return RowKey(bytes)
    }

    /// Returns the time and the id in the name of an item that sorts by time; nil if the name is
    /// too short.
    static func place(name: [UInt8]) -> BroadcastPlace? {
        guard name.count > 9 else { return nil }
        return BroadcastPlace(
            time: Int64(bitPattern: name[1..<9].bigEndianWord), id: Array(name[9...]))
    }
}

/// The position of a broadcast or comment in a video's list: by time, then by id.
struct BroadcastPlace: Equatable, Comparable {
    /// The time in Unix milliseconds; 0 if unknown.
    var time: Int64
    /// The id in UTF-8.
    var id: [UInt8]

    static func < (left: BroadcastPlace, right: BroadcastPlace) -> Bool {
        left.time != right.time
            ? left.time < right.time : left.id.lexicographicallyPrecedes(right.id)
    }
}

/// The rule for choosing the broadcast that represents a video.
public enum WinnerRule: String, Sendable {
    /// The broadcast shared first, as in the 2012 app.
    case oldest
    /// The broadcast shared last, as in the app since 2013.
    case newest

    /// Returns whether `challenger` replaces `holder` as the winner.
    func prefers(_ challenger: BroadcastPlace, to holder: BroadcastPlace) -> Bool {
        self == .oldest ? challenger < holder : holder < challenger
    }

    /// Returns whether a broadcast with the time `challenger` replaces one with the time `holder`.
    ///
    /// The two times must differ.
    func prefers(_ challenger: Int64, to holder: Int64) -> Bool {
        self == .oldest ? challenger < holder : holder < challenger
    }
}
