import TapedeckTesting

/// What happens in a schedule, and how often.
struct SimulationOptions {
    var devices = 3
    /// Appends in all.
    var appends = 40
    /// How long faults go on, in virtual milliseconds; then the network heals.
    var faultsUntil: UInt64 = 120_000
    /// Percent of messages that are lost, or delivered twice.
    var lossPercent: UInt64 = 10
    var duplicatePercent: UInt64 = 10
    var delayMax: UInt64 = 400
    /// How many of each happen.
    var crashes = 6
    var partitions = 3
    var clockJumps = 2
    var copies = 1
    var restores = 1
    var serverWipes = 1
    var serverRollbacks = 1
    /// Percent of events that the server refuses.
    var refusedPercent: UInt64 = 5
    /// Whether every device keeps a projection, brought up to date now and then.
    var folds = false
    /// Whether devices also tick, and compact what they have ticked now and then.
    var compacts = false
    /// Whether the devices also speak with a remote that knows no events.
    var hasBoard = false
    /// A defect that the invariants have to catch.
    var planted: PlantedBug?

    /// Draws one; about a third of schedules are free of the heavier faults.
    init(_ random: inout SeededGenerator) {
        devices = 2 + random.below(3)
        appends = 10 + random.below(50)
        lossPercent = [0, 5, 20, 40][random.below(4)]
        duplicatePercent = [0, 10, 30][random.below(3)]
        delayMax = [50, 400, 4_000][random.below(3)]
        crashes = random.below(8)
        partitions = random.below(4)
        clockJumps = random.below(3)
        copies = random.oneIn(4) ? 1 : 0
        restores = random.oneIn(3) ? 1 + random.below(2) : 0
        serverWipes = random.oneIn(4) ? 1 : 0
        serverRollbacks = random.oneIn(3) ? 1 + random.below(2) : 0
        refusedPercent = random.oneIn(3) ? 10 : 0
        folds = random.oneIn(4)
        compacts = random.oneIn(3)
        hasBoard = random.oneIn(4)
        guard hasBoard else { return }
        // What a store or a server has forgotten nobody can know to be done.
        (copies, restores, serverWipes, serverRollbacks, refusedPercent) = (0, 0, 0, 0, 0)
    }
}

/// Defects of engines and servers that others have had, planted to see that an invariant catches
/// them.
enum PlantedBug: String, CaseIterable, CustomStringConvertible {
    /// The cursor is stored although the page was not (livestore#1532).
    case cursorBeforeEvents
    /// The server answers, and has not stored (evolu#660).
    case serverForgetsPush
    /// A wait has no timer (powersync-native#15).
    case waitWithoutTimer
    /// The own clock takes over foreign stamps as they are (evolu#709).
    case clockFollowsStamps
    /// What was to be sent counts as delivered (sqlite-data#492).
    case sentCountsAsDelivered
    /// After a crash the last event is appended again.
    case appendsAgainAfterCrash
    /// The device takes the server's word for the digest (actuali#188): a rollback goes unnoticed.
    case adoptsRollback
    /// The server gives other times to the same event when it is asked again.
    case receiptsDiffer
    /// A refused event is deleted from the device's view (waves#671).
    case refusalUnseen
    /// The server takes another event under a name for the one that it has.
    case forksUnnoticed
    /// "Up to date" is shown while events wait (kado PR#53).
    case statusLies
    /// The receipts of a lost server are not pushed to its successor.
    case receiptsNotSeeded
    /// A request that got no answer counts as one that never left (boardsesh#5305 the other way round).
    case cutCountsAsUnsent

    var description: String { rawValue }

    /// The seed of a schedule that catches it, so that none has to be searched for; a later one does as well.
    var caughtBySeed: UInt64 {
        switch self {
        case .receiptsNotSeeded, .refusalUnseen: 9
        case .cutCountsAsUnsent: 31
        case .adoptsRollback: 39
        case .receiptsDiffer: 136
        case .forksUnnoticed: 171
        default: 0
        }
    }
}
