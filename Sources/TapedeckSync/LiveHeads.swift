internal import Foundation
internal import TapedeckModel
internal import NIOCore
internal import TapedeckSyncProtocol

/// Reads the head positions that a server announces on a live connection.
enum LiveHeads {
    /// The time without a head after which a live connection is considered dead; servers
    /// repeat the head every 15 s.
    static let silenceMax = Duration.seconds(40)
    /// The maximum size of a line; a line with a head has about 80 bytes.
    static let lineBytesMax = 16 << 10

    /// The reason why a live connection is useless although data arrives.
    enum Failure: Error {
        /// A line with data contains no head, or a line is too long.
        case unreadable
    }

    /// Reads heads until the connection ends.
    ///
    /// Only a complete head is a sign of life. Other bytes, such as comments, prove nothing: a proxy
    /// may send them forever while no head gets through.
    ///
    /// Throws `Failure`, the error of `parts`, or `HTTPBodyError.tooSlow` if `silenceMax` passes
    /// without a head.
    static func read<Parts: AsyncSequence & Sendable>(
        _ parts: Parts, _ deadlines: BodyDeadlines,
        announce: @escaping @Sendable (UInt64) -> Void
    ) async throws where Parts.Element == ByteBuffer {
        @Sendable func nextDeadline() -> ContinuousClock.Instant {
            deadlines.clock.now() + silenceMax
        }
        let end: Void? = try await deadlines.watch(nextDeadline()) { move in
            var line: [UInt8] = []
            for try await part in parts {
                for byte in part.readableBytesView {
                    guard byte == UInt8(ascii: "\n") else {
                        guard line.count < lineBytesMax else { throw Failure.unreadable }
                        line.append(byte)
                        continue
                    }
                    let text = String(decoding: line, as: UTF8.self)
                    line.removeAll(keepingCapacity: true)
                    guard let head = try head(in: text) else { continue }
                    announce(head)
                    move(nextDeadline())
                }
            }
        }
        if end == nil { throw HTTPBodyError.tooSlow }
    }

    /// Reads `data: {"lineage":"…","head":7}`; returns nil for other fields.
    private static func head(in line: String) throws -> UInt64? {
        struct Data: Decodable { var head: UInt64 }
        let field = "data:"
        guard line.hasPrefix(field) else { return nil }
        let read = try? JSONDecoder().decode(
            Data.self, from: .init(line.dropFirst(field.count).utf8))
        guard let head = read?.head, head <= StoredNumber.max else { throw Failure.unreadable }
        return head
    }
}
