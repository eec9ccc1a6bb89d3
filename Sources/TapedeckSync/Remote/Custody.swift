internal import TapedeckModel

/// Which device may deliver an intent now.
///
/// 1. Its origin, as long as no other device can have seen it: no server has given it a receipt.
/// 2. Its origin, within the lease: `lease` of continuous time since it was wanted.
/// 3. Anyone whose claim holds. A claim holds if the server gave it a time at least `lease + margin`
///    behind that of the intent, or of the claim that held before; of several the least position counts.
///
/// Every request ends within less than `margin`, so whoever held it before is through with it. The
/// server's times are the same for all devices, so no clocks have to agree.
struct Custody {
    /// How long whoever holds an intent may deliver it, in milliseconds.
    static let lease: UInt64 = 300_000
    /// Beyond the longest request, in milliseconds.
    static let margin: UInt64 = 120_000

    /// A server's word on an event.
    struct Sequenced: Hashable {
        var origin: OriginID
        var position: UInt64
        /// Unix milliseconds of the server.
        var receivedAt: UInt64
    }

    enum Answer: Hashable {
        /// Deliver it; nobody else can have begun.
        case own
        /// Deliver it; somebody else may have begun, so look before.
        case taken
        /// Somebody else has it, until a time of the server's clock.
        case leased(until: UInt64)
        /// A claim of this device waits for the server.
        case unclaimed
        /// Nobody has it any more: claim it.
        case claim
    }

    /// Says who may deliver.
    ///
    /// - Parameters:
    ///   - origin: who wants the intent.
    ///   - device: who asks.
    ///   - age: continuous milliseconds since it was wanted; nil where clocks may have moved since.
    ///   - intent: what the server said of it; nil if no server has seen it.
    ///   - claims: what it said of the claims that it has seen.
    ///   - hasOpenClaim: whether this device has made one that no server has seen.
    ///   - hasServer: whether the store syncs with a server.
    ///   - now: the server's time; nil where it is not known, which takes a sync.
    static func of(
        origin: OriginID, device: OriginID, age: UInt64?, intent: Sequenced?, claims: [Sequenced],
        hasOpenClaim: Bool, hasServer: Bool, now: UInt64?
    ) -> Answer {
        guard let intent else {
            if origin == device { return .own }
            // What this store has come to hold under another name has to be sequenced before anybody can
            // claim it. Without a server there is one device only.
            return hasServer ? .unclaimed : .taken
        }
        if origin == device, let age, age < lease { return .own }
        var holder: Sequenced?
        var since = intent.receivedAt
        for claim in claims.sorted(by: { $0.position < $1.position })
        where claim.receivedAt >= since + lease + margin {
            holder = claim
            since = claim.receivedAt
        }
        guard let now else { return .unclaimed }
        if now < since + lease {
            if let holder, holder.origin == device { return .taken }
            return .leased(until: since + lease + margin)
        }
        if hasOpenClaim { return .unclaimed }
        return now < since + lease + margin ? .leased(until: since + lease + margin) : .claim
    }
}
