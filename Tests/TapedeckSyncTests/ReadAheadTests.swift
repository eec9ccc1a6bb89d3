import TapedeckLog
import TapedeckModel
@testable import TapedeckSync
import Testing

/// The next page is requested while the previous page is being recorded.
struct ReadAheadTests {
    private let rig = SyncRig()
    private let source: EventLog
    private let reader: EventLog

    init() throws {
        source = try rig.store("source")
        reader = try rig.store("reader")
        for number in 0..<20 { try source.note("\(number)") }
        try rig.sync(source)
        rig.pageBytesMax = 300
    }

    @Test func everyPageButTheFirstIsRequestedAhead() throws {
        let outcome = try rig.sync(reader)
        let pulls = outcome.requests.count(where: \.isPull)
        #expect(pulls > 3 && outcome.answeredAhead == pulls - 1)
        #expect(try reader.notes() == source.notes())
        #expect(try reader.verify().problems.isEmpty)
    }

    @Test func noPageIsRequestedBeforeOwnEventsArePushed() throws {
        try reader.note("mine")
        let outcome = try rig.sync(reader)
        let first = outcome.requests.first(where: \.isPushOrPull)
        #expect(first?.isPull == false)
        #expect(try reader.notes().count == 21)
    }

    @Test func eventsAppendedMeanwhileArePushedFirst() throws {
        var session = try SyncSession(reader, upstream: "server")
        var step = try session.begin()
        while true {
            guard case .send(let request) = step else {
                return #expect(Bool(false), "there is a page to request")
            }
            let response = try rig.answer(request).get()
            guard let ahead = try session.requestAhead(response) else {
                step = try session.answered(response)
                continue
            }
            try reader.note("mine")
            step = try session.answered(response)
            #expect(step != .send(ahead))
            return
        }
    }
}

extension SyncRequest {
    fileprivate var isPull: Bool { if case .pull = self { true } else { false } }

    fileprivate var isPushOrPull: Bool { if case .push = self { true } else { isPull } }
}
