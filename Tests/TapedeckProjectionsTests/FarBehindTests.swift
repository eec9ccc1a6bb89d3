import Foundation
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// A projection that is very far behind is rebuilt in a separate file; these tests run only in
/// `tools/soak`.
@Suite(.enabled(if: Soak.isOn), .offTasks) struct FarBehindTests {
    private func append(_ count: UInt64, to store: TestStore) throws {
        for start in stride(from: 0, to: count, by: 50_000) {
            try store.log.appendBlocking(
                try (start..<min(start + 50_000, count)).map {
                    try ProposedEvent(BookMoved(isbn: "\($0 % 5_000)", from: "a", to: "b"))
                })
        }
    }

    private func number(_ store: TestStore) throws -> UInt64? {
        try store.log.viewsEntry(ProjectionDriver.fingerprint(of: BookHistory()))?.number
    }

    @Test func laggingProjectionIsRebuiltOnlyBeyondALimit() throws {
        let store = try TestStore([BookHistory(), ShelfHistory()])
        try append(ProjectionRunner.followedEventsMax - 1, to: store)
        try store.touch()
        #expect(try number(store) == 1)
        try store.checkVerifies("followed")
        try append(ProjectionRunner.followedEventsMax + 1, to: store)
        try store.touch()
        #expect(try number(store) == 2)
        try store.checkVerifies("rebuilt")
    }

    @Test func laggingProjectionIsFollowedDuringAnotherRebuild() throws {
        let store = try TestStore([BookHistory(), ShelfHistory()])
        try append(ProjectionRunner.followedEventsMax + 10, to: store)
        let lock = try StoreLock.rebuild(store.log.directory, waits: false)
        try store.touch()
        withExtendedLifetime(lock) {}
        #expect(try number(store) == 1)
        try store.checkVerifies()
    }
}
