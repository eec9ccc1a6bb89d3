import Foundation
import TapedeckVideo
import Testing

@Suite struct TimeTests {
    @Test func daysAgreeWithFoundation() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        for number in stride(from: -3_000, through: 60_000, by: 17) {
            let date = Date(timeIntervalSince1970: Double(number) * 86_400)
            let parts = calendar.dateComponents([.year, .month, .day, .weekday], from: date)
            let day = CalendarDay(number: number)
            let text = String(
                format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
            #expect(day.description == text)
            #expect(CalendarDay(text) == day)
            // Foundation counts Sunday as 1.
            let back = ((parts.weekday ?? 0) + 5) % 7
            #expect(day.monday.number == number - back)
        }
    }

    @Test(arguments: [
        "", "2019-7-1", "2019-13-01", "2019-00-10", "2019-02-29", "2019-04-31", "2019-99-99",
        "0000-00-00", "2019-07-11T", "２０１９-07-11", "-019-07-11",
    ])
    func invalidDaysAreNil(_ text: String) {
        #expect(CalendarDay(text) == nil)
    }

    @Test func timesAreReadWithAnyOffset() {
        let expected: Int64 = 1_562_823_000_000
        for text in [
            "2019-07-11T05:30:00Z", "2019-07-11T05:30:00+00:00", "2019-07-11T01:30:00-04:00",
            "2019-07-11t05:30:00.000z", "2019-07-11T11:00:00.0+05:30",
        ] { #expect(Timestamps.milliseconds(text) == expected) }
        #expect(Timestamps.milliseconds("2019-07-11T05:30:00.1239Z") == expected + 123)
        #expect(Timestamps.milliseconds("2016-12-31T23:59:60Z") == 1_483_228_800_000)
        #expect(Timestamps.milliseconds("1963-11-23T17:15:00.250Z") == -192_696_299_750)
    }

    @Test(arguments: [
        "", "2019-07-11", "2019-07-11T05:30:00", "2019-07-11T24:00:00Z", "2019-07-11T05:60:00Z",
        "2019-07-11T05:30:61Z", "2019-07-11T05:30:00.Z", "2019-07-11T05:30:00+0000",
        "0000-12-31T23:59:59Z", "2019-99-99T00:00:00Z", "2019-07-11T05:30:00+25:00",
        "9999-12-31T23:59:59-01:00", "2019-07-11T05:30:00ZZ",
    ])
    func invalidTimesAreNil(_ text: String) {
        #expect(Timestamps.milliseconds(text) == nil)
    }

    @Test func timesAreWrittenWithMilliseconds() {
        #expect(UTCTime(milliseconds: 1_562_823_000_007).description == "2019-07-11T05:30:00.007Z")
        #expect(UTCTime(milliseconds: 0).description == "1970-01-01T00:00:00.000Z")
        #expect(UTCTime(milliseconds: -192_696_299_750).description == "1963-11-23T17:15:00.250Z")
    }
}
