internal import Foundation
internal import Synchronization
internal import TapedeckLMDB
public import TapedeckModel

/// The starting position of a new subscription.
public enum SubscriptionStart: Sendable {
    /// At the first event in the log.
    case beginning
    /// After the last event in the log at the time of subscribing.
    case now
}

/// The status of a subscription in a store.
public struct SubscriptionStatus: Hashable, Sendable {
    /// The subscription's name.
    public var name: String
    /// The acknowledged position; nil if the subscription's file is damaged.
    public var acknowledged: LogPosition?
}

/// # Subscriptions
///
/// The progress of a subscription is stored in its own small file (`SlotFile`) instead of in the
/// log. In the log, each acknowledgement would be a commit that waits for the disk and holds the
/// writer's lock. In the file, an acknowledgement is a single write, which survives the end of the
/// process. A power failure may undo the acknowledgements of the last second, and their events are
/// then delivered again.
extension EventLog {
    /// The maximum length of a subscription's name, in bytes.
    public static let subscriptionNameCountMax = 64

    /// Opens a subscription under a name that no other open subscription uses.
    @available(*, noasync)
    package func subscribe(
        named name: String, from start: SubscriptionStart, _ filter: EventFilter
    ) throws(LogError) -> LogSubscription {
        let path = try subscriptionPath(name)
        guard !options.isReadOnly else {
            throw LogError(
                .readOnly, "cannot subscribe to a store opened read-only",
                hint: "open the store for writing")
        }
        settleBuffered()
        try queue.beginDirectWrite()
        defer { queue.finished(1) }
        return try LogError.wrapping {
            try DurableFile.makeFolder(self.directory.subscriptions)
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

    /// Returns the subscriptions known to this store, ordered by name, whether or not they are
    /// open.
    @available(*, noasync)
    package func subscriptionStatuses() throws(LogError) -> [SubscriptionStatus] {
        let folder = directory.subscriptions
        guard try StoreDirectory.exists(folder) else { return [] }
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

    /// Removes the progress of a subscription; a later subscription with this name starts over.
    @available(*, noasync)
    package func removeSubscription(named name: String) throws(LogError) {
        let path = try subscriptionPath(name)
        try queue.beginDirectWrite()
        defer { queue.finished(1) }
        guard try StoreDirectory.exists(path) else {
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

    /// Returns whether a name is valid for a file of the store.
    static func isFileName(_ name: String) -> Bool {
        (1...subscriptionNameCountMax).contains(name.utf8.count)
            && name.wholeMatch(of: /[a-z0-9][a-z0-9._-]*/) != nil
    }

    static let fileNameHint =
        "use 1 to \(subscriptionNameCountMax) lowercase letters, digits, dots, dashes and underscores,"
        + " starting with a letter or digit"

    private func subscriptionPath(_ name: String) throws(LogError) -> String {
        guard EventLog.isFileName(name) else {
            throw LogError(
                .usage, "\"\(name.prefix(80))\" is not a valid subscription name",
                hint: EventLog.fileNameHint)
        }
        return directory.subscriptions + "/" + name
    }

    // MARK: - Positions in the history

    /// Returns whether the log still has the same history up to a mark.
    func holds(
        _ mark: SubscriptionMark, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> Bool {
        guard try checksum(at: mark.position, transaction) == mark.checksum else { return false }
        return mark.history.fits(
            try historyMark(through: mark.position, change: 0, transaction))
    }

    /// Returns the initial marks of a subscription.
    ///
    /// A subscription that starts at `.now` also has marks at earlier positions. If the log is
    /// later restored to an earlier state, the subscription delivers the events after the newest
    /// mark that is still valid.
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

/// A weak reference to a subscription, which is open as long as it is referenced elsewhere.
struct WeakSubscription {
    weak var subscription: LogSubscription?

    init(_ subscription: LogSubscription) { self.subscription = subscription }
}
