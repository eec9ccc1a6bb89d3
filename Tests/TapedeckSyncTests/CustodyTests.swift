import TapedeckModel
@testable import TapedeckSync
import Testing

/// Two devices never deliver an intent at the same time, and one of them eventually delivers it.
struct CustodyTests {
    private static let phone = OriginID(high: 1, low: 1)
    private static let tablet = OriginID(high: 2, low: 2)
    private static let start: UInt64 = 1_700_000_000_000
    private static let term = Custody.lease + Custody.margin

    private func custody(
        of device: OriginID, age: UInt64? = nil, sequenced: Bool = true,
        claims: [(OriginID, UInt64, UInt64)] = [], open: Bool = false, at now: UInt64
    ) -> Custody.Answer {
        Custody.of(
            origin: CustodyTests.phone, device: device, age: age,
            intent: sequenced
                ? .init(origin: CustodyTests.phone, position: 1, receivedAt: CustodyTests.start)
                : nil,
            claims: claims.map { .init(origin: $0.0, position: $0.1, receivedAt: $0.2) },
            hasOpenClaim: open, hasServer: true, now: now)
    }

    @Test func originOwnsIntentsThatNoServerHasSeen() {
        #expect(custody(of: CustodyTests.phone, sequenced: false, at: .max / 2) == .own)
    }

    @Test func originOwnsAnIntentOnlyDuringItsLease() {
        let now = CustodyTests.start
        #expect(custody(of: CustodyTests.phone, age: Custody.lease - 1, at: now) == .own)
        let later = custody(
            of: CustodyTests.phone, age: Custody.lease, at: now + CustodyTests.term)
        #expect(later == .claim)
    }

    @Test func originWithAnUncertainClockWaitsForTheLease() {
        let now = CustodyTests.start + 10
        #expect(
            custody(of: CustodyTests.phone, at: now)
                == .leased(until: CustodyTests.start + CustodyTests.term))
    }

    @Test func otherDevicesClaimAfterTheLease() {
        let end = CustodyTests.start + CustodyTests.term
        #expect(custody(of: CustodyTests.tablet, at: end - 1) == .leased(until: end))
        #expect(custody(of: CustodyTests.tablet, at: end) == .claim)
        #expect(custody(of: CustodyTests.tablet, open: true, at: end) == .unclaimed)
    }

    @Test func firstValidClaimWins() {
        let at = CustodyTests.start + CustodyTests.term
        let claims = [
            // This claim is one millisecond too early, so it is ignored.
            (CustodyTests.phone, 2 as UInt64, at - 1), (CustodyTests.tablet, 3, at),
            (CustodyTests.phone, 4, at + 5),
        ]
        #expect(
            custody(of: CustodyTests.tablet, claims: claims, at: at + 10) == .taken(since: at))
        #expect(
            custody(of: CustodyTests.phone, claims: claims, at: at + 10)
                == .leased(until: at + CustodyTests.term))
    }

    @Test func claimsExpire() {
        let at = CustodyTests.start + CustodyTests.term
        let claims = [(CustodyTests.tablet, 3 as UInt64, at)]
        let end = at + CustodyTests.term
        #expect(custody(of: CustodyTests.phone, claims: claims, at: end) == .claim)
        // The previous holder must claim again, whatever its own clock says.
        #expect(custody(of: CustodyTests.tablet, claims: claims, at: end) == .claim)
        let again = claims + [(CustodyTests.phone, 5, end)]
        #expect(
            custody(of: CustodyTests.phone, claims: again, at: end + 1) == .taken(since: end))
    }

    /// The log of the only device that has held an intent shows whether it was sent.
    @Test func originNeedsNoProbeWhileNoOtherDeviceHasHeldTheIntent() {
        let at = CustodyTests.start + CustodyTests.term
        // A claim that competed for the same lease is not valid.
        let claims = [
            (CustodyTests.phone, 2 as UInt64, at), (CustodyTests.tablet, 3, at + 1),
            (CustodyTests.phone, 4, at + CustodyTests.term),
        ]
        let now = at + CustodyTests.term + 1
        #expect(custody(of: CustodyTests.phone, claims: claims, at: now) == .own)
        let end = at + 3 * CustodyTests.term
        let later =
            claims + [
                (CustodyTests.tablet, 5, end - CustodyTests.term), (CustodyTests.phone, 6, end),
            ]
        #expect(custody(of: CustodyTests.phone, claims: later, at: end) == .taken(since: end))
    }

    /// A request may take longer to settle than a lease lasts, so the settling time must not begin
    /// again with each claim by the same device.
    @Test func aDeviceThatClaimsAgainHasHeldTheIntentSinceItsFirstClaim() {
        let at = CustodyTests.start + CustodyTests.term
        var claims = (0..<3).map { (number: UInt64) in
            (CustodyTests.tablet, 3 + number, at + number * CustodyTests.term)
        }
        let end = at + 3 * CustodyTests.term
        #expect(
            custody(of: CustodyTests.tablet, claims: claims, at: end - CustodyTests.term + 1)
                == .taken(since: at))
        claims.append((CustodyTests.phone, 6, end))
        #expect(
            custody(of: CustodyTests.phone, claims: claims, at: end + 1) == .taken(since: end))
    }

    /// Devices whose clocks are wrong by less than the margin never hold an intent at the same time.
    @Test func twoDevicesNeverHoldAnIntentAtOnce() {
        var random = SeededNumbers(state: 42)
        for _ in 0..<2_000 {
            var claims: [(OriginID, UInt64, UInt64)] = []
            var now = CustodyTests.start
            for position in 2..<8 as Range<UInt64> {
                now += random.next() % (2 * CustodyTests.term)
                let device = random.next() % 2 == 0 ? CustodyTests.phone : CustodyTests.tablet
                claims.append((device, position, now))
                let skew = random.next() % (Custody.margin / 2)
                let answers = [CustodyTests.phone, CustodyTests.tablet].map { device in
                    custody(
                        of: device, claims: claims,
                        at: now + (device == CustodyTests.phone ? skew : 0))
                }
                #expect(answers.count { $0 == .own || $0.isTaken } <= 1)
            }
        }
    }
}

private struct SeededNumbers {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 17
    }
}
