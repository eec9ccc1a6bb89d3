import Foundation
@_spi(Core) import TapedeckModel
import Testing

@testable import TapedeckLog

/// The helpers that tests of subscriptions share.
protocol SubscriptionSuite {}

extension SubscriptionSuite {
    func appended(_ count: Int, in log: EventLog, type: EventType = "NoteTaken") throws {
        try log.appendBlocking(
            (0..<count).map { ProposedEvent(type: type, tags: [], payload: [UInt8($0 % 256)]) })
    }

    func append(_ tags: [TapedeckModel.Tag], to log: EventLog) throws {
        try log.appendBlocking([ProposedEvent(type: "Seen", tags: tags, payload: [])])
    }

    func damage(_ position: UInt64, in log: EventLog) throws {
        try log.write { transaction in
            let held = try transaction.get(log.tables.events, integer: position)
            guard var bytes = held.map({ Array($0) }) else { return }
            bytes[bytes.count - 1] ^= 1
            try transaction.put(log.tables.events, integer: position, bytes)
        }
    }

    func subscribe(
        _ log: EventLog, _ name: String = "mails", from start: SubscriptionStart = .beginning,
        types: [EventType] = [], tags: [TapedeckModel.Tag] = []
    ) throws -> LogSubscription {
        try log.subscribe(named: name, from: start, EventFilter(tags: tags, types: types))
    }

    func statuses(_ log: EventLog) throws -> [String: UInt64?] {
        Dictionary(
            uniqueKeysWithValues: try log.subscriptionStatuses().map {
                ($0.name, $0.acknowledged?.rawValue)
            })
    }

    func remove(_ name: String, _ log: EventLog) throws {
        try log.removeSubscription(named: name)
    }

    func positions(
        _ subscription: LogSubscription, _ count: Int, after place: LogSubscription.Place? = nil
    ) async throws -> [UInt64] {
        try await read(subscription, count, after: place).positions
    }

    /// Returns the positions and closes the subscription.
    ///
    /// A subscription that is dropped without being closed may keep its name until background work
    /// releases it.
    func lastPositions(_ subscription: LogSubscription, _ count: Int) async throws -> [UInt64] {
        let found = try await positions(subscription, count)
        subscription.close()
        return found
    }

    /// Reads until there are `count` events or the subscription ends.
    func read(
        _ subscription: LogSubscription, _ count: Int, after start: LogSubscription.Place? = nil
    ) async throws -> (positions: [UInt64], place: LogSubscription.Place?) {
        var (place, found) = (start, [UInt64]())
        while found.count < count, let delivery = try await subscription.next(after: place) {
            found += delivery.events.map(\.position.rawValue)
            place = delivery.place
        }
        return (found, place)
    }

    func acknowledge(_ position: UInt64, _ subscription: LogSubscription) async throws {
        let event = try event(position, in: subscription.log)
        try await subscription.acknowledge(through: try #require(event))
    }

    func event(_ position: UInt64, in log: EventLog) throws -> EventEnvelope? {
        try log.event(at: LogPosition(rawValue: position))
    }
}
