package import SwiftProtobuf

extension Google_Protobuf_Timestamp {
    /// The time in milliseconds since 1970, rounded down and clamped to the years 1 to 9999.
    package var milliseconds: Int64 {
        let seconds = seconds.clamped(
            to: Timestamps.whole.lowerBound / 1_000..<Timestamps.whole.upperBound / 1_000)
        return seconds * 1_000 + Int64(nanos) / 1_000_000
    }

    /// Creates a timestamp from a time in milliseconds since 1970.
    package init(milliseconds: Int64) {
        let whole = milliseconds.floorDivided(by: 1_000)
        self.init(seconds: whole, nanos: Int32(milliseconds - whole * 1_000) * 1_000_000)
    }
}

/// Conversions between times and RFC 3339 strings.
package enum Timestamps {
    /// Returns a time as `YYYY-MM-DDTHH:MM:SS.mmmZ`, as in all reports, clamped to the years 1 to
    /// 9999.
    package static func text(milliseconds: Int64) -> String {
        let milliseconds = milliseconds.clamped(to: whole)
        let day = CalendarDay(milliseconds: milliseconds, offsetSeconds: 0)
        let rest = milliseconds - day.startMilliseconds
        let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60)
        let (second, milli) = (rest / 1_000 % 60, rest % 1_000)
        return
            "\(day)T\(hour.padded(2)):\(minute.padded(2)):\(second.padded(2)).\(milli.padded(3))Z"
    }

    /// Parses an RFC 3339 string with any offset and any number of decimals; nil if it is invalid
    /// or not in the years 1 to 9999.
    ///
    /// A leap second counts as the following second, because Unix time has no leap seconds. Times
    /// before 1970 are negative; they are accepted because some television episodes aired before
    /// then.
    package static func milliseconds(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 64,
            let day = CalendarDay(String(decoding: bytes[..<10], as: UTF8.self)),
            bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: "t") || bytes[10] == 0x20,
            let hour = digits(bytes, 11), bytes[13] == UInt8(ascii: ":"),
            let minute = digits(bytes, 14), bytes[16] == UInt8(ascii: ":"),
            let second = digits(bytes, 17), hour < 24, minute < 60, second <= 60
        else { return nil }
        var at = 19
        var millis: Int64 = 0
        if bytes[at] == UInt8(ascii: ".") {
            at += 1
            let start = at
            while at < bytes.count, (0x30...0x39).contains(bytes[at]) {
                if at - start < 3 { millis = millis * 10 + Int64(bytes[at] - 0x30) }
                at += 1
            }
            guard at > start else { return nil }
            for _ in 0..<max(0, 3 - (at - start)) { millis *= 10 }
        }
        guard let offset = offsetMinutes(bytes[at...]) else { return nil }
        let minutes = Int64(hour * 60 + minute - offset)
        let time = day.startMilliseconds + minutes * 60_000 + Int64(second) * 1_000 + millis
        return whole.contains(time) ? time : nil
    }

    /// The years 1 to 9999 in milliseconds since 1970, the range of protobuf's `Timestamp`.
    package static let whole: Range<Int64> = -62_135_596_800_000..<253_402_300_800_000

    /// The years 1970 to 9999 in milliseconds since 1970, the range for the times of recorded
    /// events.
    package static let recorded: Range<Int64> = 0..<253_402_300_800_000

    private static func digits(_ bytes: [UInt8], _ at: Int) -> Int? {
        guard at + 2 <= bytes.count, (0x30...0x39).contains(bytes[at]),
            (0x30...0x39).contains(bytes[at + 1])
        else { return nil }
        return Int(bytes[at] - 0x30) * 10 + Int(bytes[at + 1] - 0x30)
    }

    private static func offsetMinutes(_ zone: ArraySlice<UInt8>) -> Int? {
        let bytes = Array(zone)
        if bytes == [UInt8(ascii: "Z")] || bytes == [UInt8(ascii: "z")] { return 0 }
        guard bytes.count == 6, bytes[0] == UInt8(ascii: "+") || bytes[0] == UInt8(ascii: "-"),
            bytes[3] == UInt8(ascii: ":"), let hours = digits(bytes, 1),
            let minutes = digits(bytes, 4), hours < 24, minutes < 60
        else { return nil }
        return (hours * 60 + minutes) * (bytes[0] == UInt8(ascii: "-") ? -1 : 1)
    }
}

extension Int64 {
    /// Returns the nearest number in `range`, which must not be empty.
    func clamped(to range: Range<Int64>) -> Int64 {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound - 1)
    }
}
