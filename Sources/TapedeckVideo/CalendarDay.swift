/// A day in the proleptic Gregorian calendar, without a time zone.
package struct CalendarDay: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number of days since 1970-01-01.
    package let number: Int

    /// The last day whose description has ten characters: 9999-12-31.
    package static let last = CalendarDay(year: 9_999, month: 12, day: 31)

    /// Creates a day from a number of days since 1970-01-01.
    package init(number: Int) { self.number = number }

    /// Parses `YYYY-MM-DD`; returns nil for any other string and for nonexistent days.
    package init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count == 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-") else {
            return nil
        }
        func digits(_ range: Range<Int>) -> Int? {
            var value = 0
            for byte in bytes[range] {
                guard (0x30...0x39).contains(byte) else { return nil }
                value = value * 10 + Int(byte - 0x30)
            }
            return value
        }
        guard let year = digits(0..<4), let month = digits(5..<7), let day = digits(8..<10),
            year > 0, (1...12).contains(month), day >= 1,
            day <= CalendarDay.length(ofMonth: month, year: year)
        else { return nil }
        self.init(year: year, month: month, day: day)
    }

    // Years begin in March here, so that the leap day is the last day of a year. The arithmetic is
    // from Howard Hinnant, "chrono-compatible low-level date algorithms".
    private init(year: Int, month: Int, day: Int) {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        number =
            era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }

    /// Creates the day that contains a time, in the time zone `offsetSeconds` east of Greenwich.
    package init(milliseconds: Int64, offsetSeconds: Int) {
        let seconds = Int(milliseconds.floorDivided(by: 1_000)) + offsetSeconds
        number = seconds.floorDivided(by: 86_400)
    }

    /// The Monday of the day's ISO week.
    package var monday: CalendarDay {
        // Day 0 was a Thursday.
        let weekday = (number + 3) - (number + 3).floorDivided(by: 7) * 7
        return CalendarDay(number: number - weekday)
    }

    /// The start of the day in UTC, in milliseconds since 1970.
    package var startMilliseconds: Int64 { Int64(number) * 86_400_000 }

    package func adding(_ days: Int) -> CalendarDay { CalendarDay(number: number + days) }

    /// `YYYY-MM-DD`.
    package var description: String {
        let shifted = number + 719_468
        let era = shifted.floorDivided(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return "\(year.padded(4))-\(month.padded(2))-\(day.padded(2))"
    }

    /// Returns whether `left` is before `right`.
    package static func < (left: CalendarDay, right: CalendarDay) -> Bool {
        left.number < right.number
    }

    private static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension BinaryInteger {
    /// Returns the quotient rounded down, even if it is negative.
    package func floorDivided(by divisor: Self) -> Self {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }

    /// Returns the decimal digits of a non-negative value, with leading zeros up to `width`.
    package func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
