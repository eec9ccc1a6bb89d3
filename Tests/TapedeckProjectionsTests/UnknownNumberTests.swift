import TapedeckLMDB
@_spi(Core) import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckLog
@testable import TapedeckProjections

/// A record with a type or origin unknown to the log causes an error with its position, and does
/// not crash the process.
@Suite(.offTasks) struct UnknownNumberTests {
    enum Number: CaseIterable {
        case type, origin

        /// The offset of the little-endian number in a record.
        var place: Int { self == .type ? 36 : 32 }
    }

    /// Changes a number in the 10th of 40 events; `isSealed` updates the checksum to match.
    private func damaged(
        _ number: Number, isSealed: Bool, isLive: Bool = false
    ) throws -> TestStore {
        let store = try TestStore(isLive: isLive)
        for index in 0..<40 {
            try store.append(NoteAdded(isbn: "\(index % 3)", reader: "r", text: "\(index)"))
        }
        if isLive { try store.touch() }
        try store.log.write { transaction in
            let table = store.log.tables.events
            guard var bytes = try transaction.get(table, integer: 10).map({ Array($0) }) else {
                return
            }
            bytes[number.place] = 0xEE
            if isSealed { Self.seal(&bytes) }
            try transaction.put(table, integer: 10, bytes)
        }
        return store
    }

    /// Updates the checksum of a record to match its content.
    private static func seal(_ record: inout [UInt8]) {
        let sum = record.withUnsafeBytes { crc32c(UnsafeRawBufferPointer(rebasing: $0[4...])) }
        withUnsafeBytes(of: sum.littleEndian) { bytes in
            for index in 0..<4 { record[index] = bytes[index] }
        }
    }

    private func expectDamaged(_ what: String, _ body: () throws -> Void) {
        let error = #expect(throws: (any Error).self, "\(what)") { try body() }
        #expect(
            (error as? any CodedError)?.code == .damaged, "\(what): \(String(describing: error))")
    }

    @Test(arguments: Number.allCases, [true, false])
    func unknownNumberIsAnErrorInEveryFold(_ number: Number, isSealed: Bool) throws {
        let store = try damaged(number, isSealed: isSealed)
        let names = store.runner.drivers.map(\.name)
        expectDamaged("a rebuild") { _ = try store.runner.rebuild(names) }
        expectDamaged("a replay up to a time") {
            _ = try store.runner.replay(until: .time(milliseconds: 1_800_000_000_000))
        }
        expectDamaged("a read") { try store.touch() }
        expectDamaged("an explanation") {
            _ = try store.runner.explain("reader-notes", key: Tag("reader", "r"))
        }
    }

    /// A late event makes live tables fold the earlier events of its key again.
    @Test(arguments: Number.allCases, [true, false])
    func unknownNumberIsAnErrorInARefoldByALateEvent(_ number: Number, isSealed: Bool) throws {
        let store = try damaged(number, isSealed: isSealed, isLive: true)
        try store.log.record([
            HistoryEvent(
                origin: OriginID(high: 1, low: 1), stamp: Stamp(milliseconds: 1_000),
                proposal: try ProposedEvent(
                    NoteAdded(isbn: "1", reader: "r", text: "late"), atMilliseconds: 1_000))
        ])
        expectDamaged("a read") { try store.touch() }
    }
}
