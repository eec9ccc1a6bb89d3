internal import Foundation
internal import Synchronization
internal import TapedeckLMDB
public import TapedeckModel

/// Where a subscription begins that nobody has had before.
public enum SubscriptionStart: Sendable {
    /// With the first event of the log.
    case beginning
    /// Behind the last event of the log as of the subscribing.
    case now
}

/// A subscription that a store knows.
public struct SubscriptionStatus: Hashable, Sendable {
    /// Its name.
    public var name: String
    /// Up to where it is acknowledged; nil where its file is damaged.
    public var acknowledged: LogPosition?
}

/// # Subscriptions
///
/// How far a subscription is stands in a small file of its own (`SlotFile`), not in the log's: there,
/// each acknowledgement would be a commit that waits for the disk and holds the writer's lock. Here it is one
/// write, which outlives the process; a power cut may undo the last second, and events come once more.
extension EventLog {
    /// The longest name of a subscription.
    public static let subscriptionNameCountMax = 64

    /// Subscribes under a name, which nobody else may have at the time.
    @available(*, noasync)
    package func subscribe(
        named name: String, from start: SubscriptionStart, _ filter: EventFilter
    ) throws(LogError) -> LogSubscription {
        let path = try subscriptionPath(name)
        guard !options.isReadOnly else {
            throw LogError(
                .readOnly, "a subscription of a store that is open for reading",
                hint: "open the store for writing")
        }
        settleBuffered()
        try queue.beginDirectWrite()
        defer { queue.finished(1) }
        return try LogError.wrapping {
            try self.makeFolder(self.directory.subscriptions)
            let subscription = try LogSubscription(
                self, try SubscriptionFile(path), name: name, from: start, filter)
            let key = ObjectIdentifier(subscription)
            self.subscriptions.withLock { held in
                held = held.filter { $0.value.subscription != nil }
                held[key] = WeakSubscription(subscription)
            }
            return subscription
        }
    }

    /// The subscriptions that this store knows, by name, whether anybody has them open or not.
    @available(*, noasync)
    package func subscriptionStatuses() throws(LogError) -> [SubscriptionStatus] {
        let folder = directory.subscriptions
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        return try LogError.wrapping {
            try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                .filter(EventLog.isFileName)
                .map { name in
                    do throws(LogError) {
                        let marks = try SubscriptionFile.read(folder + "/" + name)
                        return SubscriptionStatus(
                            name: name,
                            acknowledged: LogPosition(rawValue: marks?.newest.position ?? 0))
                    } catch {
                        guard error.code == .damaged else { throw error }
                        return SubscriptionStatus(name: name, acknowledged: nil)
                    }
                }
        }
    }

    /// Forgets how far a subscription is; who subscribes by this name again begins anew.
    @available(*, noasync)
    package func removeSubscription(named name: String) throws(LogError) {
        let path = try subscriptionPath(name)
        try queue.beginDirectWrite()
        defer { queue.finished(1) }
        guard FileManager.default.fileExists(atPath: path) else {
            throw LogError(
                .notFound, "there is no subscription \(name)", hint: "check the name")
        }
        let file = try SubscriptionFile(path, creating: false)
        defer { withExtendedLifetime(file) {} }
        guard unlink(path) == 0 || errno == ENOENT else { throw LogError.system(errno, path) }
        try DurableFile.synchronize(directory.subscriptions)
    }

    func forget(_ subscription: LogSubscription) {
        subscriptions.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(subscription)) }
    }

    /// The subscriptions that are open in this process.
    var openSubscriptions: [LogSubscription] {
        subscriptions.withLock { $0.values.compactMap(\.subscription) }
    }

    // MARK: - Names

    /// Whether a file of a store may be called so.
    static func isFileName(_ name: String) -> Bool {
        (1...subscriptionNameCountMax).contains(name.utf8.count)
            && name.wholeMatch(of: /[a-z0-9][a-z0-9._-]*/) != nil
    }

    static let fileNameHint =
        "use 1 to \(subscriptionNameCountMax) small letters, digits, dots, dashes and underscores, a letter"
        + " or digit first"

    private func subscriptionPath(_ name: String) throws(LogError) -> String {
        guard EventLog.isFileName(name) else {
            throw LogError(
                .usage, "\"\(name.prefix(80))\" is not the name of a subscription",
                hint: EventLog.fileNameHint)
        }
        return directory.subscriptions + "/" + name
    }

    func makeFolder(_ folder: String) throws(LogError) {
        if mkdir(folder, 0o700) == 0 { return try DurableFile.synchronize(directory.path) }
        guard errno == EEXIST else { throw LogError.system(errno, folder) }
    }

    // MARK: - Places in the history

    /// Whether the log holds what it held up to a place when that was noted.
    func holds(
        _ mark: SubscriptionMark, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> Bool {
        guard try checksum(at: mark.position, transaction) == mark.checksum else { return false }
        return mark.history.fits(
            try historyMark(through: mark.position, change: 0, transaction))
    }

    /// The places of a subscription that begins.
    ///
    /// One that begins now knows places before it, too: should the log be put back to one of them, what
    /// stands behind it then is new.
    func marks(
        of start: SubscriptionStart, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> SubscriptionMarks {
        var marks = SubscriptionMarks([.start])
        guard case .now = start else { return marks }
        let end = try lastPosition(transaction)
        var distances: [UInt64] = [0]
        while let last = distances.last, max(1, last * 2) < end {
            distances.append(max(1, last * 2))
        }
        for distance in distances.reversed() where distance < end {
            let position = try endOfRecord(at: end - distance, transaction)
            guard let checksum = try checksum(at: position, transaction) else {
                throw LogError.damagedRecord(position, "it is missing")
            }
            marks.add(
                SubscriptionMark(
                    position: position, checksum: checksum,
                    history: try historyMark(through: position, change: 0, transaction)))
        }
        return marks
    }
}

/// A subscription that is open as long as somebody has it.
struct WeakSubscription {
    weak var subscription: LogSubscription?

    init(_ subscription: LogSubscription) { self.subscription = subscription }
}
