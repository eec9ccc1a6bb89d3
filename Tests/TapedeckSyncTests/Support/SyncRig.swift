import Foundation
import TapedeckLog
import TapedeckModel
@testable import TapedeckServer
@testable import TapedeckSync
import TapedeckSyncProtocol
import TapedeckTesting

/// Stores and a server on one thread, for tests that proceed step by step.
///
/// For random schedules, see `Simulation`.
final class SyncRig {
    let server: InMemoryStorage
    let space: SpaceID
    let clock = ManualClock()
    /// The maximum size of a page from the server, in bytes.
    var pageBytesMax = Int.max
    private let directory: String

    /// - Parameter refuses: The policy by which the server refuses events.
    init(refuses: @escaping RefusalPolicy = { _ in nil }) {
        let clock = clock
        server = InMemoryStorage(
            refuses: refuses, now: clock.now, randomLineage: { .random() })
        space = server.space(named: "default")
        directory = NSTemporaryDirectory() + "tapedeck-rig-\(UInt64.random(in: 0 ... .max))"
        try? FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func path(_ name: String) -> String { "\(directory)/\(name)" }

    func store(_ name: String, now: (@Sendable () -> UInt64)? = nil) throws -> EventLog {
        try EventLog.create(path(name), options: .init(now: now ?? clock.now))
    }

    /// The outcome of transmitting a request.
    enum Fate {
        case arrives
        case isLost
        /// The request arrives and takes effect, but its response is lost.
        case answerIsLost
        case fails(SyncFailure)
    }

    /// The result of a sync.
    struct Outcome {
        var report: SyncReport
        var requests: [SyncRequest] = []
        var waits: [SyncWait] = []
        /// The number of requests for which a response had arrived before the session asked for it.
        var answeredAhead = 0
    }

    /// A request that is sent before the session asks for it; the engine sends such requests, too.
    private struct Ahead {
        var request: SyncRequest
        var answer: Result<SyncResponse, SyncFailure>
    }

    /// Syncs a store until everything is done; waits pass immediately.
    ///
    /// - Parameters:
    ///   - stepsMax: The number of requests after which the sync is abandoned, as in a crash.
    ///   - fate: The fate of the request with the given number, starting at 0.
    ///   - changing: A change that is applied to each response.
    @discardableResult
    func sync(
        _ log: EventLog, name: String = "server", stepsMax: Int = 1_000,
        fate: (Int, SyncRequest) -> Fate = { _, _ in .arrives },
        changing: (SyncResponse) -> SyncResponse = { $0 }
    ) throws -> Outcome {
        var session = try SyncSession(
            log, upstream: name, options: .init(failuresMax: 20, backoffMax: 1_000),
            random: SeededGenerator(seed: 1))
        var outcome = Outcome(report: SyncReport())
        var ahead: Ahead?
        var step = try session.begin()
        while true {
            switch step {
            case .send(let request):
                guard outcome.requests.count < stepsMax else {
                    outcome.report = session.report
                    return outcome
                }
                let number = outcome.requests.count
                outcome.requests.append(request)
                switch fate(number, request) {
                case .arrives:
                    let isAhead = ahead?.request == request
                    if isAhead { outcome.answeredAhead += 1 }
                    let answer =
                        (isAhead ? ahead?.answer : nil)
                        ?? answer(request).map(changing)
                    ahead = nil
                    if case .success(let response) = answer {
                        ahead = try session.requestAhead(response).map {
                            Ahead(request: $0, answer: self.answer($0).map(changing))
                        }
                    }
                    step = try give(answer, to: &session)
                case .isLost: step = try session.failed(SyncFailure(.offline, "lost"))
                case .answerIsLost:
                    _ = answer(request)
                    step = try session.failed(SyncFailure(.offline, "lost"))
                case .fails(let failure): step = try session.failed(failure)
                }
            case .wait(let wait):
                outcome.waits.append(wait)
                clock.advance(by: .milliseconds(1_000))
                step = try session.woken()
            case .end(let failure):
                outcome.report = try session.finalReport(failure)
                return outcome
            case .listen, .none:
                outcome.report = try session.finalReport(nil)
                return outcome
            }
        }
    }

    private func give(
        _ answer: Result<SyncResponse, SyncFailure>, to session: inout SyncSession
    ) throws -> SyncSession.Step {
        switch answer {
        case .success(let response): try session.answered(response)
        case .failure(let failure): try session.failed(failure)
        }
    }

    /// Returns the server's response to a request.
    func answer(_ request: SyncRequest) -> Result<SyncResponse, SyncFailure> {
        do throws(ServerError) {
            switch request {
            case .handshake: return .success(.handshake(try server.handshake(space)))
            case .lineage(let message):
                guard let cursor = SyncCursor(message.cursor) else { break }
                return .success(
                    .handshake(
                        try server.renewLineage(
                            space, cursor: cursor, proof: nil, hasReturned: message.hasReturned_p)))
            case .push(let message):
                guard let lineage = LineageID(message.lineage) else { break }
                return .success(
                    .push(
                        try server.push(
                            space, lineage: lineage, entries: message.entries,
                            bases: message.bases)))
            case .pull(let message):
                guard let cursor = SyncCursor(message.cursor) else { break }
                return .success(
                    .pull(
                        try server.pull(
                            space, after: cursor,
                            bytesMax: min(Int(message.bytesMax), pageBytesMax),
                            held: OriginID(message.origin).map {
                                EventID(origin: $0, sequence: message.originAfter)
                            })))
            }
        } catch {
            return .failure(SyncFailure(error.code, "\(error.message)"))
        }
        return .failure(SyncFailure(.malformedRequest, "not a message"))
    }
}

extension EventLog {
    /// Appends a note.
    @discardableResult
    func note(_ text: String) throws -> EventID {
        try appendBlocking([
            ProposedEvent(type: "Noted", tags: [try Tag("note", "1")], payload: Array(text.utf8))
        ]).firstID
    }

    /// Returns the texts of the notes that have kept their ids, sorted.
    func notes() throws -> [String] {
        try events(after: .start, limit: 10_000)
            .filter { try $0.type == "Noted" && event($0.id)?.position == $0.position }
            .map { String(decoding: $0.payload, as: UTF8.self) }.sorted()
    }
}
