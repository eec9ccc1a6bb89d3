import TapedeckModel
import TapedeckSync
import Testing

/// Each change belongs to the account to which its device had signed in.
@Suite struct SignInsTests {
    private let phone = OriginID(high: 1, low: 1)
    private let tablet = OriginID(high: 2, low: 2)
    private let ada = "ada"
    private let ben = "ben"

    private func account(_ user: String, _ events: EventID...) -> SignIns.Account {
        SignIns.Account(user: user, shown: user, events: events)
    }

    private func event(_ device: OriginID, _ sequence: UInt64) -> EventID {
        EventID(origin: device, sequence: sequence)
    }

    /// Returns whether a change may be sent from an account.
    private func allows(
        _ signIns: SignIns, _ change: EventID, from user: String,
        on device: OriginID = OriginID(high: 9, low: 9)
    ) throws -> Bool {
        let remote = try Remote(checking: "home", system: "shelby", url: "http://127.0.0.1:1")
        let refusal = signIns.refusal(of: change, from: user, at: remote, on: device)
        #expect(refusal == nil || refusal?.code == .conditionFailed)
        return refusal == nil
    }

    @Test func theLastSignInBeforeAChangeCounts() throws {
        let signIns = SignIns([
            account("ada", event(phone, 3), event(phone, 9)), account("ben", event(phone, 6)),
        ])
        // The first sign-in also counts for the changes before it.
        let changes: [(sequence: UInt64, isAdas: Bool)] = [
            (1, true), (4, true), (7, false), (10, true),
        ]
        for (sequence, isAdas) in changes {
            try #expect(allows(signIns, event(phone, sequence), from: ada) == isAdas)
            try #expect(allows(signIns, event(phone, sequence), from: ben) == !isAdas)
        }
    }

    @Test func devicesWithoutASignInSpeakOnlyForASingleAccount() throws {
        let single = SignIns([account("ada", event(phone, 3))])
        try #expect(allows(single, event(tablet, 1), from: ada))
        try #expect(allows(SignIns([]), event(tablet, 1), from: ada))
        let several = SignIns([account("ada", event(phone, 3)), account("ben", event(phone, 1))])
        try #expect(!allows(several, event(tablet, 1), from: ada))
        // The login on the tablet itself shows whose changes it makes.
        try #expect(allows(several, event(tablet, 1), from: ada, on: tablet))
    }
}
