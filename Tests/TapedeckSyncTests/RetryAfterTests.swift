import Testing

@testable import TapedeckSync

/// The `Retry-After` header is respected within limits.
@Suite struct RetryAfterTests {
    @Test(
        arguments: [
            ("0", 0), ("7", 7_000), ("86400", 86_400_000), ("86401", 86_400_000),
            ("18446744073709551615", 86_400_000), ("18446744073709551616", 86_400_000),
            ("99999999999999999999999999", 86_400_000),
        ] as [(String, UInt64)])
    func secondsAreClamped(_ field: String, _ milliseconds: UInt64) {
        #expect(RetryAfter.milliseconds(field, now: 0) == milliseconds)
    }

    @Test(arguments: [
        nil, "", "-1", "+1", "1.5", " 1", "soon", "Fri, 32 Dec 1999", "\u{664}",
    ])
    func valuesOtherThanSecondsAndDatesAreIgnored(_ field: String?) {
        #expect(RetryAfter.milliseconds(field, now: 0) == nil)
    }

    /// The three formats of RFC 9110, section 5.6.7.
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ])
    func datesAreClamped(_ field: String) {
        let time: Int64 = 784_111_777_000
        #expect(RetryAfter.milliseconds(field, now: time - 90_000) == 90_000)
        #expect(RetryAfter.milliseconds(field, now: time + 1) == 0)
        #expect(RetryAfter.milliseconds(field, now: 0) == 86_400_000)
        #expect(RetryAfter.milliseconds(field, now: .min) == 86_400_000)
    }
}
