import TapedeckLog
import TapedeckModel

/// An event as one origin recorded it, before any store assigned it a position.
struct HistoryEvent {
    var origin: OriginID
    var stamp: Stamp
    var proposal: ProposedEvent
    var reissuedFrom: EventID?
}

/// The events that several devices wrote, each in its own order, and the receipts of servers.
struct History {
    /// The events of each origin, in its order.
    var origins: [[HistoryEvent]] = []
    var receipts: [Receipt] = []

    var count: Int { origins.reduce(0) { $0 + $1.count } }

    /// Turns reissued events into ordinary events, because other events determine whether a reissue
    /// is valid, regardless of their positions and times.
    mutating func dropReissues() {
        for place in origins.indices {
            for index in origins[place].indices { origins[place][index].reissuedFrom = nil }
        }
    }

    /// Returns a random order of arrival that keeps the order of each origin.
    ///
    /// Each device comes online for a while, and long runs of an origin's events arrive late.
    func arrival(_ random: inout SeededGenerator) -> [HistoryEvent] {
        var arrived: [HistoryEvent] = []
        var next = origins.map { _ in 0 }
        while arrived.count < count {
            let left = origins.indices.filter { next[$0] < origins[$0].count }
            let origin = random.pick(left)
            let stretch = random.chance(70) ? 1 + random.number(below: 4) : random.number(below: 60)
            let end = min(next[origin] + stretch, origins[origin].count)
            arrived += origins[origin][next[origin]..<end]
            next[origin] = end
        }
        return arrived
    }
}

/// Generates histories of a library.
struct HistoryGenerator {
    var events = 1_000
    var originCount = 4
    var books = 12
    var readers = 5
    var shelves = 4
    /// The percentage of notes that a fold refuses.
    var poison = 2

    func generate(_ random: inout SeededGenerator) throws -> History {
        var history = History()
        let origins = (0..<originCount).map { _ in
            OriginID(high: random.next(), low: random.next())
        }
        history.origins = origins.map { _ in [] }
        var time: UInt64 = 1_700_000_000_000
        var facts: [BookReceived] = []
        for _ in 0..<events {
            let place = random.number(below: originCount)
            time += UInt64(random.number(below: 900))
            // Clocks differ, and some events have earlier times than the preceding events.
            var at = time + UInt64(place) * 700
            if random.chance(10) { at -= UInt64(random.number(below: 60_000)) }
            var event = HistoryEvent(
                origin: origins[place],
                stamp: Stamp(
                    milliseconds: at,
                    counter: random.chance(20) ? UInt16(random.number(below: 3)) : 0
                ), proposal: try proposal(&random, &facts))
            if random.chance(3) { reissue(&event, history, &random) }
            event.proposal.atMilliseconds = event.stamp.milliseconds
            history.origins[place].append(event)
        }
        history.receipts = receipts(of: history, &random)
        return history
    }

    // MARK: - Events

    private func proposal(
        _ random: inout SeededGenerator, _ facts: inout [BookReceived]
    ) throws -> ProposedEvent {
        let isbn = "isbn-\(random.number(below: books))"
        let reader = "reader-\(random.number(below: readers))"
        var proposal: ProposedEvent
        switch random.number(below: 100) {
        case 0..<30: proposal = try ProposedEvent(observation(isbn, &random, &facts))
        case 30..<45: proposal = try ProposedEvent(LoanStarted(isbn: isbn, reader: reader))
        case 45..<60: proposal = try ProposedEvent(LoanEnded(isbn: isbn, reader: reader))
        case 60..<88:
            let word = random.chance(poison) ? PoisonedNotes.word : "note"
            let note = NoteAdded(
                isbn: isbn, reader: reader, text: "\(word) \(random.number(below: 1_000))")
            proposal =
                random.chance(8)
                ? try note.newer(page: random.number(below: 500)) : try ProposedEvent(note)
        case 88..<96:
            proposal = try ProposedEvent(
                BookMoved(
                    isbn: isbn, from: "shelf-\(random.number(below: shelves))",
                    to: "shelf-\(random.number(below: shelves))"))
        default:
            proposal = ProposedEvent(
                type: random.chance(50) ? "CardPrinted" : "CardLost",
                tags: [try Tag("book", isbn), try Tag("card", reader)], payload: [1, 2, 3])
        }
        if random.chance(2) { proposal.encoding = .sealed }
        // Sometimes an event names the same entity twice.
        if random.chance(3), let first = proposal.tags.first { proposal.tags.append(first) }
        return proposal
    }

    /// Returns a new observation, or one that another origin may also have recorded.
    private func observation(
        _ isbn: String, _ random: inout SeededGenerator, _ facts: inout [BookReceived]
    ) -> BookReceived {
        if random.chance(40), var known = facts.randomElement(using: &random) {
            known.weight = UInt64(random.number(below: 100))
            return known
        }
        let fresh = BookReceived(
            isbn: isbn, title: "Title \(random.number(below: 20))",
            shelf: "shelf-\(random.number(below: shelves))",
            version: UInt64(random.number(below: 40)),
            observedAt: random.chance(70) ? Int64(random.number(below: 1_000)) : nil,
            weight: UInt64(random.number(below: 100)))
        facts.append(fresh)
        return fresh
    }

    /// Turns an event into the reissue of an event in the history, or of one that never arrived.
    private func reissue(
        _ event: inout HistoryEvent, _ history: History, _ random: inout SeededGenerator
    ) {
        let others = history.origins.filter { !$0.isEmpty }
        if random.chance(50), !others.isEmpty {
            let other = random.pick(others)
            let place = random.number(below: other.count)
            guard other[place].reissuedFrom == nil else { return }
            event.stamp = other[place].stamp
            event.proposal = other[place].proposal
            event.reissuedFrom = EventID(origin: other[place].origin, sequence: UInt64(place + 1))
        } else {
            event.reissuedFrom = EventID(
                origin: OriginID(high: random.next(), low: random.next()),
                sequence: UInt64(1 + random.number(below: 50)))
        }
    }

    // MARK: - Receipts

    private func receipts(of history: History, _ random: inout SeededGenerator) -> [Receipt] {
        var receipts: [Receipt] = []
        let lineages = [LineageID(high: 1, low: 1), LineageID(high: 2, low: 2)]
        for events in history.origins {
            for (place, event) in events.enumerated() where random.chance(25) {
                for lineage in lineages.prefix(random.chance(20) ? 2 : 1) {
                    let shift = random.number(below: 40_000)
                    receipts.append(
                        Receipt(
                            event: EventID(origin: event.origin, sequence: UInt64(place + 1)),
                            lineage: lineage, serverPosition: UInt64(receipts.count + 1),
                            receivedAt: Stamp(
                                milliseconds: event.stamp.milliseconds + 10_000 - UInt64(shift)),
                            outcome: random.chance(15) ? .refused(.fork) : .accepted))
                }
            }
        }
        return receipts
    }
}
