internal import TapedeckModel

/// The first pass over an export, before any of it is recorded.
///
/// This pass ensures that the file is complete, that each event is well-formed and follows the
/// previous event of its origin, that events already recorded are the same in the file and in the
/// log, and that the file does not add sample events to a log without sample events.
struct ImportCheck {
    let log: EventLog
    let path: String
    /// The last recorded sequence number of each origin; events up to this number are compared with
    /// the log.
    private(set) var recorded: [OriginID: UInt64] = [:]
    private(set) var events: UInt64 = 0
    private(set) var receipts: UInt64 = 0
    /// The number of events that are not recorded here.
    private(set) var fresh: UInt64 = 0
    private var blocks: UInt64 = 0
    /// The last sequence number of each origin in the file so far.
    private var reached: [OriginID: UInt64] = [:]
    private var known: KnownEvents
    private let sampleTag = Array(EventLog.sampleTag.text.utf8)

    init(_ log: EventLog, _ path: String) {
        self.log = log
        self.path = path
        known = KnownEvents(log)
    }

    mutating func run(_ progress: LogProgress.Report?) throws(LogError) {
        try log.refreshState()
        let state = log.state.withLock { $0 }
        let acceptsSamples = try log.containsSamples()
        for row in state.origins { recorded[row.id] = row.lastSequence }
        var reader = try ExportReader(path, isHashed: true)
        var start = reader.offset
        while let body = try reader.next() {
            switch body[0] {
            case ExportFormat.blockKind:
                try check(try ExportBlock(body, at: start, path), state, acceptsSamples)
            case ExportFormat.trailerKind:
                guard reader.isAtEnd, isTrailer(body, digest: reader.digest()) else {
                    throw ExportFormat.damaged(
                        path, start, "its trailer does not match its contents")
                }
                return
            default:
                throw ExportFormat.damaged(path, start, "an entry there has an unknown kind")
            }
            start = reader.offset
            progress?(
                LogProgress(
                    phase: .checking, done: UInt64(start), total: UInt64(reader.byteCount)))
        }
        throw ExportFormat.damaged(path, start, "it was truncated there")
    }

    private func isTrailer(_ body: [UInt8], digest: [UInt8]) -> Bool {
        var expected = [ExportFormat.trailerKind]
        for count in [blocks, events, receipts, UInt64(reached.count)] {
            expected.appendLittleEndian(count)
        }
        return body == expected + digest
    }

    private mutating func check(
        _ block: ExportBlock, _ state: LogState, _ acceptsSamples: Bool
    ) throws(LogError) {
        blocks += 1
        receipts += UInt64(block.receiptCount)
        var former = reached
        // A block must contain every event for which it has a mark or a receipt.
        var unmatched = Set(block.receipts.keys)
        var marks: [OriginID: UInt64] = [:]
        for mark in block.marks { marks[mark.event.origin] = mark.event.sequence }
        guard marks.count == block.marks.count else {
            throw block.damaged("an origin has two hash chain marks")
        }

        let result = try log.read { transaction in
            var found = (known: self.known, events: UInt64(0), fresh: UInt64(0))
            var origin: OriginID?
            var ordinal: UInt32?
            var last: UInt64 = 0
            var held: UInt64 = 0
            var mark: UInt64?
            try block.forEachEvent { bytes in
                let event: CanonicalEntry
                do throws(CanonicalProblem) {
                    event = try CanonicalEntry(bytes)
                } catch {
                    throw block.damaged("event \(found.events + 1) is invalid: \(error.what)")
                }
                let id = event.id
                if id.origin != origin {
                    if let origin { former[origin] = last }
                    origin = id.origin
                    ordinal = state.ordinals[id.origin]
                    held = self.recorded[id.origin] ?? 0
                    mark = marks[id.origin]
                    last = former[id.origin] ?? min(held, event.firstSequence - 1)
                }
                guard event.firstSequence == last + 1 else {
                    throw LogError(
                        .gap,
                        "\(path) lacks events of an origin: event \(last) is followed by event \(id)",
                        hint: "export the events again")
                }
                last = id.sequence
                if let ordinal, id.sequence <= held {
                    try found.known.check(event, ordinal: ordinal, state, transaction)
                } else {
                    if let ordinal, case .stub(let stub) = event {
                        try found.known.checkBeginning(
                            of: stub, ordinal: ordinal, state, transaction)
                    }
                    if !acceptsSamples, event.hasTag(sampleTag) {
                        throw LogError(
                            .usage,
                            "\(path) contains sample events; with them, this store could no longer"
                                + " be synced",
                            hint: "import the file into a demo store: storectl init --store DIR"
                                + " --demo, then storectl import --store DIR"
                                + " \(ShellWord.quoted(path))")
                    }
                    found.fresh += 1
                }
                if !unmatched.isEmpty { unmatched.remove(id) }
                if last == mark { marks[id.origin] = nil }
                found.events += 1
            }
            if let origin { former[origin] = last }
            return found
        }
        guard unmatched.isEmpty, marks.isEmpty else {
            throw block.damaged("the event for a receipt or a hash chain mark is missing")
        }
        known = result.known
        events += result.events
        fresh += result.fresh
        reached = former
    }
}
