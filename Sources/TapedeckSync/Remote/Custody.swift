internal import TapedeckModel

/// Determines which device may deliver an intent now.
///
/// The following devices may deliver it:
///
/// 1. The originating device, until a server has sequenced the intent: before that, no other device
///    can know about it.
/// 2. The originating device, during its lease: the first `lease` milliseconds of continuous time
///    after the intent was created.
/// 3. Any device with a valid claim. A claim is valid if the server's time for it is at least
///    `lease + margin` after the server's time for the intent or for the previous valid claim. If
///    several claims compete, the claim with the lowest position wins.
///
/// Every request ends in less than `margin`, so the previous holder has finished by the time a
/// claim is valid. All devices use the server's times, so their clocks need not agree.
struct Custody {
    /// The time, in milliseconds, for which the holder of an intent may deliver it.
    static let lease: UInt64 = 300_000
    /// A time longer than any request takes, in milliseconds.
    static let margin: UInt64 = 120_000

    /// The server's position and time for an event.
    struct Sequenced: Hashable {
        var origin: OriginID
        var position: UInt64
        /// The server's time, in milliseconds since 1970.
        var receivedAt: UInt64
    }

    enum Answer: Hashable {
        /// Deliver: no other device can have started, because none has held the intent.
        case own
        /// Deliver, but probe first: another device may have started.
        ///
        /// `since` is the time on the server's clock by which all requests of other devices had
        /// ended; nil if there was no server.
        case taken(since: UInt64?)
        /// Another device holds the intent until this time on the server's clock.
        case leased(until: UInt64)
        /// Wait for the next sync, in which the server can sequence the intent or a claim by this
        /// device.
        case unclaimed
        /// No device holds the intent: record a claim.
        case claim

        /// Whether this device has taken the intent over.
        var isTaken: Bool { if case .taken = self { true } else { false } }
    }

    /// Determines whether a device may deliver an intent.
    ///
    /// - Parameters:
    ///   - origin: The device that created the intent.
    ///   - device: This device.
    ///   - age: The continuous time since the intent was created, in milliseconds; nil if a clock
    ///     may have been set since then.
    ///   - intent: The server's position and time for the intent; nil if it has not been sequenced
    ///     yet.
    ///   - claims: The server's positions and times for the sequenced claims.
    ///   - hasOpenClaim: Whether this device has a claim that has not been sequenced yet.
    ///   - hasServer: Whether the store syncs with a server.
    ///   - now: The current time on the server's clock; nil if it is unknown until the next sync.
    static func of(
        origin: OriginID, device: OriginID, age: UInt64?, intent: Sequenced?, claims: [Sequenced],
        hasOpenClaim: Bool, hasServer: Bool, now: UInt64?
    ) -> Answer {
        guard let intent else {
            if origin == device { return .own }
            // The origin of this store may have changed since the intent was recorded. With a
            // server, the intent must be sequenced before any device can claim it. Without a
            // server, there is only one device.
            return hasServer ? .unclaimed : .taken(since: nil)
        }
        if origin == device, let age, age < lease { return .own }
        var holder: (claim: Sequenced, since: UInt64)?
        var holders: Set<OriginID> = [origin]
        var since = intent.receivedAt
        for claim in claims.sorted(by: { $0.position < $1.position })
        where claim.receivedAt >= since + lease + margin {
            // If the holder claims the intent again, its `since` keeps the first value, because no
            // other device has held the intent in between.
            let first = holder?.claim.origin == claim.origin ? holder?.since : nil
            holder = (claim, first ?? since + lease + margin)
            holders.insert(claim.origin)
            since = claim.receivedAt
        }
        guard let now else { return .unclaimed }
        if now < since + lease {
            if let holder, holder.claim.origin == device {
                return holders == [device] ? .own : .taken(since: holder.since)
            }
            return .leased(until: since + lease + margin)
        }
        if hasOpenClaim { return .unclaimed }
        return now < since + lease + margin ? .leased(until: since + lease + margin) : .claim
    }
}
