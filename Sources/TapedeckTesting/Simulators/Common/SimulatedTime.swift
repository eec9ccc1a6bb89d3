/// Dates in the format that the simulated systems use, in UTC.
enum SimulatedTime {
    static let secondMilliseconds: Int64 = 1_000
    static let minuteMilliseconds: Int64 = 60_000
    static let hourMilliseconds: Int64 = 3_600_000
    static let dayMilliseconds: Int64 = 86_400_000

    /// Returns a date such as `2011-09-15T04:06:16.000Z`, in whole seconds; the `.000` is fixed.
    static func isoSeconds(_ milliseconds: Int64) -> String {
        let (year, month, day) = civil(milliseconds)
        let second = floor(milliseconds, secondMilliseconds) % 60
        let minute = floor(milliseconds, minuteMilliseconds) % 60
        let hour = floor(milliseconds, hourMilliseconds) % 24
        return "\(padded(year, 4))-\(padded(month))-\(padded(day))T"
            + "\(padded(hour)):\(padded(minute)):\(padded(second)).000Z"
    }

    /// Returns a date for an HTTP header, such as `Thu, 15 Sep 2011 04:06:16 GMT`.
    static func http(_ milliseconds: Int64) -> String {
        let (year, month, day) = civil(milliseconds)
        // 1970-01-01 was a Thursday.
        let weekday = weekdays[Int(floor(milliseconds, dayMilliseconds) % 7)]
        let time = isoSeconds(milliseconds).dropFirst(11).prefix(8)
        return "\(weekday), \(padded(day)) \(months[Int(month - 1)]) \(padded(year, 4)) \(time) GMT"
    }

    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns the year, month and day of a time in milliseconds since 1970.
    static func civil(_ milliseconds: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // Days are counted from 0000-03-01, so that the leap day is the last day of a year.
        let days = floor(milliseconds, dayMilliseconds) + 719_468
        let era = days / 146_097
        let dayOfEra = days % 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func floor(_ value: Int64, _ unit: Int64) -> Int64 {
        max(0, value) / unit
    }

    private static func padded(_ number: Int64, _ width: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

/// Ids in the style of MongoDB: 24 hex digits, the first 8 of which are the time in seconds since
/// 1970.
enum MongoID {
    static func make(at milliseconds: Int64, number: Int) -> String {
        hex(UInt64(max(0, milliseconds / 1_000)), 8) + "5e11b70001" + hex(UInt64(number), 6)
    }

    private static func hex(_ value: UInt64, _ width: Int) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits.suffix(width)
    }
}
