import Foundation
import TapedeckModel
@testable import TapedeckServer
import TapedeckSync
import TapedeckSyncProtocol
import TapedeckTesting

extension Simulation {
    /// Returns the server's response to a request.
    func answer(_ request: SyncRequest) -> Result<SyncResponse, SyncFailure> {
        do throws(ServerError) {
            switch request {
            case .handshake:
                var answer = try server.handshake(space)
                if options.planted == .forksUnnoticed {
                    for index in answer.origins.indices { answer.origins[index].chain = .init() }
                }
                return .success(.handshake(answer))
            case .lineage(let message):
                guard let cursor = SyncCursor(message.cursor) else { return malformed }
                let proof = message.receipt.withUnsafeBytes { bytes -> Receipt? in
                    var reader = ByteReader(bytes)
                    return reader.receipt()
                }
                let before = try server.head(of: space).lineage
                let answer = try server.renewLineage(
                    space, cursor: cursor, proof: proof,
                    hasReturned: message.hasReturned_p)
                if answer.lineage != before.data { say("server", "begins a new lineage") }
                return .success(.handshake(answer))
            case .push(let message): return .success(.push(try push(message)))
            case .pull(let message):
                guard let cursor = SyncCursor(message.cursor) else { return malformed }
                return .success(
                    .pull(
                        try server.pull(
                            space, after: cursor,
                            // Use small pages, so that there are many of them.
                            bytesMax: 200 + random.below(3_000),
                            held: OriginID(message.origin).map {
                                EventID(origin: $0, sequence: message.originAfter)
                            })))
            }
        } catch {
            return .failure(SyncFailure(error.code, "\(error.message)"))
        }
    }

    private var malformed: Result<SyncResponse, SyncFailure> {
        .failure(SyncFailure(.malformedRequest, "not a message"))
    }

    private func push(_ message: WirePushRequest) throws(ServerError) -> WirePushResponse {
        guard let lineage = LineageID(message.lineage) else {
            throw ServerError(.malformedRequest, "no lineage")
        }
        let image = server.image
        let bases = options.planted == .forksUnnoticed ? [] : message.bases
        var answer = try server.push(
            space, lineage: lineage, entries: message.entries, bases: bases)
        switch options.planted {
        case .serverForgetsPush where random.oneIn(4):
            server.restore(image)
        case .receiptsDiffer where answer.fresh == 0:
            for index in answer.receivedAt.indices where answer.positions[index] > 0 {
                answer.receivedAt[index] -= 1 << 20
            }
        case .refusalUnseen:
            answer.refusals = []
        case .forksUnnoticed where answer.hasProblem && answer.problem.kind == .fork:
            // Respond as if the pushed events were the events that the server already has.
            answer = acceptAll(message, answer)
        default: break
        }
        return answer
    }

    private func acceptAll(
        _ message: WirePushRequest, _ answer: WirePushResponse
    ) -> WirePushResponse {
        var answer = answer
        answer.clearProblem()
        let count = message.entries.withUnsafeBytes { bytes -> Int in
            var reader = SyncEntryReader(bytes)
            var count = 0
            while reader.next() != nil { count += 1 }
            return count
        }
        while answer.positions.count < count {
            answer.positions.append(serverHead)
            answer.receivedAt.append(Stamp(milliseconds: now).rawValue)
        }
        return answer
    }

    /// Returns a response as if a push had succeeded, although the push never reached the server.
    func fabricate(_ message: WirePushRequest) -> WirePushResponse {
        var answer = WirePushResponse()
        answer.lineage = message.lineage
        return acceptAll(message, answer)
    }

    /// Returns the cursor at a position in the server's log.
    func cursor(at position: UInt64) -> SyncCursor? {
        guard let lineage = try? server.head(of: space).lineage else { return nil }
        var cursor = SyncCursor(lineage)
        while cursor.position < position {
            guard
                let page = try? server.pull(space, after: cursor, bytesMax: 1, held: nil),
                let receivedAt = page.receivedAt.first
            else { return nil }
            let entries = [UInt8](page.entries)
            entries.withUnsafeBytes { bytes in
                var reader = SyncEntryReader(bytes)
                guard let entry = reader.next() else { return }
                cursor.position += 1
                cursor.digest.add(
                    position: cursor.position, receivedAt: Stamp(rawValue: receivedAt),
                    refusal: page.refusals.first?.code, kind: entry.kind, entry.body)
            }
        }
        return cursor
    }

    /// Returns the ids of all events on the server.
    func serverEvents() throws -> Set<EventID> {
        var found: Set<EventID> = []
        try forEachServerEvent { id, _ in found.insert(id) }
        return found
    }

    func serverPayloads() throws -> Set<UInt64> {
        var found: Set<UInt64> = []
        try forEachServerEvent { _, payload in if let payload { found.insert(payload) } }
        return found
    }

    private func forEachServerEvent(_ body: (EventID, UInt64?) -> Void) throws {
        var cursor = SyncCursor(try server.head(of: space).lineage)
        while cursor.position < serverHead {
            let page = try server.pull(space, after: cursor, bytesMax: 1 << 20, held: nil)
            let entries = [UInt8](page.entries)
            entries.withUnsafeBytes { bytes in
                var reader = SyncEntryReader(bytes)
                for receivedAt in page.receivedAt {
                    guard let entry = reader.next() else { return }
                    cursor.position += 1
                    cursor.digest.add(
                        position: cursor.position, receivedAt: Stamp(rawValue: receivedAt),
                        refusal: page.refusals.first { $0.position == cursor.position }?.code,
                        kind: entry.kind, entry.body)
                    guard entry.kind == .event, let read = try? CanonicalEntry(entry.body) else {
                        continue
                    }
                    switch read {
                    case .event(let view):
                        let text = String(decoding: entry.body[view.payload], as: UTF8.self)
                        body(view.id, UInt64(text))
                    case .stub(let stub):
                        for sequence in stub.sequences {
                            body(EventID(origin: stub.origin, sequence: sequence), nil)
                        }
                    }
                }
            }
        }
    }
}
