import Foundation
import Synchronization
import TapedeckModel
import TapedeckServer
import TapedeckSyncProtocol
import TestSupport
import Testing

/// The storage implementations that the conformance tests run on.
enum StorageKind: String, CaseIterable, CustomTestStringConvertible {
    case inMemory
    case lmdb

    var testDescription: String { rawValue }
}

/// A storage with one space; the test controls its clock and lineages.
final class StorageUnderTest {
    private(set) var storage: any ServerStorage
    let clock = TestClock()
    let space: SpaceID
    let kind: StorageKind
    private let directory: TemporaryDirectory
    private let make: (TemporaryDirectory) throws -> any ServerStorage

    init(
        _ kind: StorageKind, refuses: @escaping RefusalPolicy = { _ in nil },
        name: String = #function
    ) async throws {
        self.kind = kind
        directory = try TemporaryDirectory(name)
        let clock = clock
        let lineages = Counter()
        make = { directory in
            switch kind {
            case .inMemory:
                return InMemoryStorage(
                    refuses: refuses, now: { clock.milliseconds },
                    randomLineage: { .sample(lineages.next()) })
            case .lmdb:
                return try LMDBStorage(
                    ServerDirectory(directory.file("server")),
                    options: .init(
                        refuses: refuses, mapSizeBytes: 1 << 20, now: { clock.milliseconds },
                        randomLineage: { .sample(lineages.next()) }))
            }
        }
        storage = try make(directory)
        space = try await storage.createToken(space: "default", name: "test").info.space
    }

    /// If the storage is persistent, closes it and opens it again.
    func reopen() throws {
        guard let lasting = storage as? LMDBStorage else { return }
        lasting.close()
        storage = try make(directory)
    }

    func lineage() async throws -> LineageID { try await storage.head(of: space).lineage }

    func push(_ entries: Data, in space: SpaceID? = nil) async throws -> WirePushResponse {
        let space = space ?? self.space
        return try await storage.push(
            space, lineage: try await storage.head(of: space).lineage, entries: entries)
    }

    /// Returns everything that a new device receives.
    func readAll(bytesMax: Int = 1 << 20, origin: OriginID? = nil) async throws -> SpaceReader {
        var reader = SpaceReader(try await lineage())
        while try await reader.read(storage, space, bytesMax: bytesMax, origin: origin) {}
        return reader
    }
}

private final class Counter: Sendable {
    private let value = Atomic<UInt64>(0)
    func next() -> UInt64 { value.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// A device that reads a space's log and computes the digest itself.
struct SpaceReader {
    struct Entry: Equatable {
        var position: UInt64
        var receivedAt: UInt64
        var refusal: String?
        var kind: SyncEntryKind
        var body: [UInt8]
    }

    var cursor: SyncCursor
    private(set) var entries: [Entry] = []

    init(_ lineage: LineageID) { cursor = SyncCursor(lineage) }

    /// Reads the next page; returns false at the end.
    ///
    /// - Parameter own: The bodies of the reader's own events, which replace the references to
    ///   them.
    mutating func read(
        _ storage: any ServerStorage, _ space: SpaceID, bytesMax: Int = 1 << 20,
        origin: OriginID? = nil, own: (UInt64) -> [UInt8] = { _ in [] }
    ) async throws -> Bool {
        let answer = try await storage.pull(
            space, after: cursor, bytesMax: bytesMax,
            held: origin.map { EventID(origin: $0, sequence: 0) })
        try take(answer, own: own)
        return cursor.position < answer.head
    }

    mutating func take(
        _ answer: WirePullResponse, own: (UInt64) -> [UInt8] = { _ in [] }
    ) throws {
        #expect(answer.firstPosition == cursor.position + 1)
        let refusals = Dictionary(
            answer.refusals.map { ($0.position, $0.code) }, uniquingKeysWith: { $1 })
        var taken: [Entry] = []
        answer.entries.withUnsafeBytes { bytes in
            var reader = SyncEntryReader(bytes)
            while let entry = reader.next() {
                let position = answer.firstPosition + UInt64(taken.count)
                taken.append(
                    Entry(
                        position: position, receivedAt: answer.receivedAt[taken.count],
                        refusal: refusals[position], kind: entry.kind, body: Array(entry.body)))
            }
            #expect(reader.isAtEnd)
        }
        #expect(taken.count == answer.receivedAt.count)
        for entry in taken {
            var body = entry.body
            if entry.kind == .reference {
                let sequence = body.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
                body = own(UInt64(littleEndian: sequence))
            }
            body.withUnsafeBytes { bytes in
                cursor.digest.add(
                    position: entry.position, receivedAt: Stamp(rawValue: entry.receivedAt),
                    refusal: entry.refusal,
                    kind: entry.kind == .reference ? .event : entry.kind, bytes)
            }
            cursor.position = entry.position
        }
        entries += taken
    }
}
