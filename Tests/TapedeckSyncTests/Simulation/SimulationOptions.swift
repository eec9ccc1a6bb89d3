import TapedeckTesting

/// The kinds and numbers of actions and faults in a schedule.
struct SimulationOptions {
    var devices = 3
    /// The total number of appends.
    var appends = 40
    /// The time at which the faults end and the network recovers, in virtual milliseconds.
    var faultsUntil: UInt64 = 120_000
    /// The percentage of messages that are lost; the next property is the percentage delivered
    /// twice.
    var lossPercent: UInt64 = 10
    var duplicatePercent: UInt64 = 10
    var delayMax: UInt64 = 400
    /// The number of crashes; the next properties are the numbers of the other faults.
    var crashes = 6
    var partitions = 3
    var clockJumps = 2
    var copies = 1
    var restores = 1
    var serverWipes = 1
    var serverRollbacks = 1
    /// The percentage of events that the server refuses.
    var refusedPercent: UInt64 = 5
    /// Whether every device has a projection that is updated from time to time.
    var folds = false
    /// Whether devices also record ticks and compact them from time to time.
    var compacts = false
    /// Whether the devices also sync with a remote that does not know event ids.
    var hasBoard = false
    /// A deliberate bug that the invariants have to catch.
    var planted: PlantedBug?

    /// Chooses random options; about a third of the schedules have no severe faults.
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
        // A restored store or server may have lost the record that an intent was carried out.
        (copies, restores, serverWipes, serverRollbacks, refusedPercent) = (0, 0, 0, 0, 0)
    }
}

/// Bugs of other engines and servers, planted to verify that an invariant catches them.
enum PlantedBug: String, CaseIterable, CustomStringConvertible {
    /// The cursor is stored although the page was not (livestore#1532).
    case cursorBeforeEvents
    /// The server confirms events without storing them (evolu#660).
    case serverForgetsPush
    /// A wait has no timer (powersync-native#15).
    case waitWithoutTimer
    /// The device's clock adopts the stamps of other devices unchecked (evolu#709).
    case clockFollowsStamps
    /// Events are treated as delivered as soon as they are sent (sqlite-data#492).
    case sentCountsAsDelivered
    /// After a crash the last event is appended again.
    case appendsAgainAfterCrash
    /// The device adopts the server's digest unchecked (actuali#188), so it misses a rollback.
    case adoptsRollback
    /// The server returns different times for the same event when the event is pushed again.
    case receiptsDiffer
    /// A refused event disappears from the device's view (waves#671).
    case refusalUnseen
    /// The server mistakes a different event with the same id for the stored event.
    case forksUnnoticed
    /// "Up to date" is shown while events are waiting (kado PR#53).
    case statusLies
    /// The receipts of a lost server are not pushed to its successor.
    case receiptsNotSeeded
    /// A request without a response is treated as never sent (the reverse of boardsesh#5305).
    case cutCountsAsUnsent

    var description: String { rawValue }

    /// The seed of a schedule that exposes the bug, so that tests need not search for one.
    ///
    /// Other seeds expose the bug as well.
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
