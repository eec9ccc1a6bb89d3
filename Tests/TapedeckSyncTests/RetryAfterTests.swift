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
        #expect(RetryAfter.milliseconds(field) == milliseconds)
    }

    @Test(arguments: [
        nil, "", "-1", "+1", "1.5", " 1", "soon", "Fri, 31 Dec 1999 23:59:59 GMT", "\u{664}",
    ])
    func valuesOtherThanSecondsAreIgnored(_ field: String?) {
        #expect(RetryAfter.milliseconds(field) == nil)
    }
}
