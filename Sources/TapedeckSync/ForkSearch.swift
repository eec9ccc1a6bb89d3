internal import TapedeckModel

/// A binary search for the first event at which two histories of an origin differ.
struct ForkSearch: Sendable {
    let origin: OriginID
    /// The last sequence number at which the histories are known to agree; 0 if there is none.
    var agreed: UInt64 = 0
    /// The first sequence number at which the histories are known to differ.
    var differs: UInt64
    /// Whether the server has confirmed the difference for the event itself, rather than only for a
    /// chain.
    var isConfirmed: Bool
    /// Whether the server has shown a difference; false if its chain differs, but every event that
    /// can be compared is the same.
    var isProved = false

    var isOver: Bool { isConfirmed && differs == agreed + 1 }
    /// The next sequence number to ask the server about.
    var asked: UInt64 { isConfirmed ? agreed + (differs - agreed) / 2 : differs }
}
