package import TapedeckModel
package import TapedeckSyncProtocol
internal import Foundation

extension SpaceRows {
    /// Returns the lineage of the space and the last sequence number of each of its origins.
    package func handshake(now: UInt64) throws -> WireHandshakeResponse {
        var answer = WireHandshakeResponse()
        answer.protocol = SyncLimits.protocolVersion
        answer.lineage = state.lineage.data
        answer.head = state.head
        answer.origins = try origins().map { known in
            var origin = WireOriginState()
            origin.origin = known.origin.data
            origin.lastSequence = known.lastSequence
            origin.chain = Data(known.chain.bytes)
            return origin
        }
        answer.timeMilliseconds = now
        answer.pushBytesMax = UInt64(SyncLimits.pushBytesMax)
        return answer
    }

    /// Returns the entries after a cursor; see `ServerStorage.pull`.
    package func pull(
        after cursor: SyncCursor, bytesMax: Int, held: EventID?
    ) throws -> WirePullResponse {
        guard cursor.lineage == state.lineage else {
            throw ServerError.lineageChanged(state.lineage, space)
        }
        guard try holds(cursor) else {
            throw ServerError(
                .cursorMismatch,
                "the entries read up to position \(cursor.position) differ from the server's",
                hint: "request a new lineage", space: space, position: cursor.position)
        }
        var answer = WirePullResponse()
        answer.lineage = state.lineage.data
        answer.firstPosition = cursor.position + 1
        answer.head = state.head
        answer.digest = Data(cursor.digest.bytes)
        guard cursor.position < state.head else { return answer }

        let most = max(1, min(bytesMax, SyncLimits.pullBytesMax))
        var entries: [UInt8] = []
        var times: [UInt64] = []
        var digest = cursor.digest
        try walk(from: cursor.position + 1) { stored in
            let reference = reference(stored, behind: held)
            let count = SyncEntryReader.headCount + (reference?.count ?? stored.body.count)
            guard
                entries.isEmpty
                    || entries.count + count <= most
                        && times.count < SyncLimits.pullEntriesMax
            else { return false }
            if let reference {
                reference.withUnsafeBytes { entries.appendEntry(.reference, $0) }
            } else {
                entries.appendEntry(stored.kind, stored.body)
            }
            times.append(stored.receivedAt.rawValue)
            digest = stored.digest
            if let refusal = stored.refusal {
                answer.refusals.append(WireRefusal(position: stored.position, code: refusal))
            }
            return true
        }
        answer.entries = Data(entries)
        answer.receivedAt = times
        answer.digest = Data(digest.bytes)
        return answer
    }

    /// Returns the encoded sequence number if the entry is an event that the device already has
    /// because it comes after `held` in the same origin; nil for every other entry.
    private func reference(_ stored: StoredEntry, behind held: EventID?) -> [UInt8]? {
        guard let held, stored.kind == .event, !RangeStub.isStub(stored.body),
            let id = CanonicalView.id(of: stored.body), id.origin == held.origin,
            id.sequence > held.sequence
        else { return nil }
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(id.sequence)
        return bytes
    }

    /// Returns whether the device has read exactly the stored entries up to a cursor, which must
    /// belong to this lineage.
    private func holds(_ cursor: SyncCursor) throws -> Bool {
        if cursor.position == 0 { return cursor.digest == SyncDigest() }
        guard cursor.position <= state.head else { return false }
        if cursor.position == state.head { return cursor.digest == state.digest }
        return try withEntry(at: cursor.position) { $0.digest == cursor.digest }
    }

    /// Returns whether an event is at the position named in a receipt of this lineage.
    private func holds(_ receipt: Receipt) throws -> Bool {
        guard (1...max(1, state.head)).contains(receipt.serverPosition), state.head > 0 else {
            return false
        }
        return try withEntry(at: receipt.serverPosition) { stored in
            stored.kind == .event && CanonicalEntry.isHeld(receipt.event, by: stored.body)
                && stored.receivedAt == receipt.receivedAt
        }
    }

    /// Begins a new lineage if the cursor or the receipt proves a loss, or if the device has seen a
    /// later lineage; returns whether it began one.
    package mutating func renewLineage(
        _ cursor: SyncCursor, proof: Receipt?, hasReturned: Bool = false, fresh: () -> LineageID
    ) throws -> Bool {
        guard cursor.lineage == state.lineage else { return false }
        var isLost = try hasReturned || !holds(cursor)
        if !isLost, let proof, proof.lineage == state.lineage { isLost = try !holds(proof) }
        guard isLost else { return false }
        state.lineage = fresh()
        return true
    }
}
