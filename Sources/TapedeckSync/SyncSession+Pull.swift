package import TapedeckLog
internal import TapedeckModel
internal import TapedeckSyncProtocol

/// A page of a server's log that has been read and checked but not recorded.
struct PulledPage: Sendable {
    var foreign = ForeignEvents()
    var cursor: SyncCursor
    /// Whether the page contradicts the last receipt by having a different entry at the receipt's
    /// position.
    var contradictsLastReceipt = false
    /// Whether the page has `Upstream.lastSeed` at the expected position; nil if the page does not
    /// include that position.
    var holdsLastSeed: Bool?
    /// The last sequence number of each origin on the page.
    var reached: [OriginID: UInt64] = [:]
}

extension SyncSession {
    /// Returns a request for the entries after a cursor.
    func pullRequest(
        behind cursor: SyncCursor, bytesMax: Int
    ) throws(LogError) -> WirePullRequest {
        var request = WirePullRequest()
        request.cursor = cursor.wire
        request.bytesMax = UInt64(bytesMax)
        request.origin = log.origin.data
        request.originAfter = try log.compactedThrough(log.origin)
        return request
    }

    /// Returns the request that will follow once a pulled page is recorded, so that the server can
    /// prepare the response in the meantime.
    ///
    /// Returns nil if the next request is not for the next page. Reads the pulled page and keeps it
    /// for `answered`, which must be called next and does not read the page again. If `answered`
    /// then returns a different request, the caller must discard the response to the request
    /// returned here, because the head in that response may be outdated. Throws any errors from
    /// reading the log.
    package mutating func requestAhead(
        _ response: SyncResponse
    ) throws(LogError) -> SyncRequest? {
        guard state.phase == .pulling, case .pull(let answer) = response,
            let cursor = upstream.cursor, LineageID(answer.lineage) == cursor.lineage,
            answer.firstPosition == cursor.position + 1, !answer.receivedAt.isEmpty,
            try lacking().isEmpty,
            let page = try read(answer, from: cursor)
        else { return nil }
        pageAhead = (answer, page)
        guard page.cursor.position < answer.head else { return nil }
        return .pull(try pullRequest(behind: page.cursor, bytesMax: SyncLimits.pullBytesUsual))
    }

    /// Returns the page read by `requestAhead`, or reads it from the response.
    private func page(
        of answer: WirePullResponse, from cursor: SyncCursor
    ) throws(LogError) -> PulledPage? {
        if let (known, page) = pageAhead, known == answer { return page }
        return try read(answer, from: cursor)
    }

    /// Records a page, its receipts and the new cursor in one transaction.
    mutating func apply(_ answer: WirePullResponse) throws(LogError) -> SyncState.Input {
        guard let cursor = upstream.cursor, let lineage = LineageID(answer.lineage),
            lineage == cursor.lineage, answer.head <= StoredNumber.max
        else { return .failed(.malformed("a pull")) }
        if let last = upstream.lastReceipt, answer.head < last.serverPosition {
            unconfirmed = last
            return .failed(
                SyncFailure(.cursorMismatch, "the server is missing events that it had confirmed"))
        }
        if let last = upstream.lastSeed, answer.head < last.position { upstream.seedAgain() }
        let digest = answer.digest.withUnsafeBytes { SyncDigest($0) }
        guard !answer.receivedAt.isEmpty else {
            guard digest == cursor.digest else { return .failed(.altered) }
            // The server has no entries after the cursor, even if it reported a later head.
            return .pulled(head: min(answer.head, cursor.position), [:])
        }
        guard answer.firstPosition == cursor.position + 1,
            let page = try page(of: answer, from: cursor)
        else { return .failed(.malformed("a pull")) }
        // The digest is checked before anything is recorded.
        guard digest == page.cursor.digest else { return .failed(.altered) }
        if page.contradictsLastReceipt {
            unconfirmed = upstream.lastReceipt
            return .failed(
                SyncFailure(
                    .cursorMismatch,
                    "the server has different events at the positions of this store's events"))
        }
        var next = upstream
        next.cursor = page.cursor
        switch page.holdsLastSeed {
        case true: next.lastSeed = nil
        case false: next.seedAgain()
        default: break
        }
        var rows = self.rows(next)
        // Another server may lack the events and receipts on this page, so start the next round.
        if page.foreign.eventCount + page.foreign.otherReceipts.count > 0, try hasOtherServer() {
            rows.append(ReceiptRounds.row(try ReceiptRounds.current(log) + 1))
        }
        do throws(LogError) {
            report.pulled += try log.record(page.foreign, rows: rows).recorded
        } catch {
            switch error.code {
            case .fork where error.position != nil: return try mend(error)
            case .fork, .gap, .notFound, .malformedRequest:
                // Only the server can be wrong: nothing was recorded, and this store is intact.
                return .failed(.malformed("a pull", error.message))
            default: throw error
            }
        }
        clockRow = nil
        upstream = next
        return .pulled(head: answer.head, page.reached)
    }

    /// Voids an origin's history from an event that differs on the server, and reissues the voided
    /// events.
    private mutating func mend(_ error: LogError) throws(LogError) -> SyncState.Input {
        guard let position = error.position else { throw error }
        if let event = try log.event(at: position) {
            report.healed += try log.heal(from: event.id)
        } else if let gone = try log.compacted(at: position) {
            report.healed += try log.heal(
                from: EventID(origin: gone.origin, sequence: gone.sequences.lowerBound))
        } else {
            throw error
        }
        upstream = Upstream(name: upstream.name)
        return .mended
    }

    private func hasOtherServer() throws(LogError) -> Bool {
        try Upstream.all(in: log).contains {
            $0.name != upstream.name && $0.cursor != nil
                && $0.cursor?.lineage != upstream.cursor?.lineage
        }
    }

    /// Reads a page; returns nil if it is invalid.
    private func read(
        _ answer: WirePullResponse, from cursor: SyncCursor
    ) throws(LogError) -> PulledPage? {
        var refusals: [UInt64: ErrorCode] = [:]
        for refusal in answer.refusals where !refusal.code.isEmpty {
            guard refusal.code.utf8.count <= Receipt.codeLengthMax else { return nil }
            refusals[refusal.position] = ErrorCode(rawValue: refusal.code)
        }
        let entries = [UInt8](answer.entries)
        let own = log.origin
        let references = try ownEvents(in: entries, own)
        return entries.withUnsafeBytes { bytes -> PulledPage? in
            var page = PulledPage(cursor: cursor)
            var reader = SyncEntryReader(bytes)
            for receivedAt in answer.receivedAt {
                guard let entry = reader.next(), page.cursor.position < StoredNumber.max else {
                    return nil
                }
                page.cursor.position += 1
                let position = page.cursor.position
                let stamp = Stamp(rawValue: receivedAt)
                let refusal = refusals[position]
                if let seed = upstream.lastSeed, seed.position == position {
                    page.holdsLastSeed = entry.kind == .receipt && stamp == seed.receivedAt
                }
                func receipt(_ id: EventID) -> Receipt {
                    Receipt(
                        event: id, lineage: cursor.lineage, serverPosition: position,
                        receivedAt: stamp, outcome: refusal.map { .refused($0) } ?? .accepted)
                }
                func digest(_ kind: SyncEntryKind, _ body: UnsafeRawBufferPointer) {
                    page.cursor.digest.add(
                        position: position, receivedAt: stamp, refusal: refusal?.rawValue,
                        kind: kind, body)
                }
                func compare(_ holds: (EventID) -> Bool) {
                    guard let last = upstream.lastReceipt, last.serverPosition == position else {
                        return
                    }
                    if !holds(last.event) || stamp != last.receivedAt {
                        page.contradictsLastReceipt = true
                    }
                }
                switch entry.kind {
                case .event:
                    guard let id = CanonicalView.id(of: entry.body) else { return nil }
                    digest(.event, entry.body)
                    compare { CanonicalEntry.isHeld($0, by: entry.body) }
                    page.foreign.add(entry.body, receipt(id))
                    page.reached[id.origin] = max(page.reached[id.origin] ?? 0, id.sequence)
                case .receipt:
                    var body = ByteReader(entry.body)
                    guard let former = body.receipt(), body.isAtEnd else { return nil }
                    digest(.receipt, entry.body)
                    compare { _ in false }
                    page.foreign.add(former)
                case .reference:
                    var body = ByteReader(entry.body)
                    guard let sequence = body.littleEndian(UInt64.self), body.isAtEnd,
                        let canonical = references[sequence]
                    else { return nil }
                    canonical.withUnsafeBytes { digest(.event, $0) }
                    compare { $0 == EventID(origin: own, sequence: sequence) }
                    page.foreign.otherReceipts.append(
                        receipt(EventID(origin: own, sequence: sequence)))
                }
            }
            return reader.isAtEnd ? page : nil
        }
    }

    /// Returns the events of this store's own origin that a page refers to only by sequence number;
    /// the digest covers the bytes of these events.
    private func ownEvents(
        in entries: [UInt8], _ own: OriginID
    ) throws(LogError) -> [UInt64: [UInt8]] {
        let sequences = entries.withUnsafeBytes { bytes -> Set<UInt64> in
            var sequences: Set<UInt64> = []
            var reader = SyncEntryReader(bytes)
            while let entry = reader.next() {
                guard entry.kind == .reference else { continue }
                var body = ByteReader(entry.body)
                if let sequence = body.littleEndian(UInt64.self) { sequences.insert(sequence) }
            }
            return sequences
        }
        guard let first = sequences.min(), let last = sequences.max(), first > 0 else { return [:] }
        var found: [UInt64: [UInt8]] = [:]
        try log.forEachCanonical(of: own, after: first - 1) { id, canonical in
            if sequences.contains(id.sequence), !RangeStub.isStub(canonical) {
                found[id.sequence] = Array(canonical)
            }
            return id.sequence < last
        }
        return found
    }
}
