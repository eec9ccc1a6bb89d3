import Foundation
import TapedeckLog
import TapedeckModel
@testable import TapedeckSync
import TapedeckSyncProtocol
import TestSupport
import Testing

/// Changes to messages between a device and its server are detected before they have any effect.
@Suite(.offTasks) struct AlteredWireTests {
    private let rig = SyncRig()

    /// Returns messages of every type.
    private func messages() throws -> [any WireMessage] {
        let source = try rig.store("source")
        for number in 0..<3 { try source.note("pay \(number)00") }
        let outcome = try rig.sync(source)
        var messages: [any WireMessage] = []
        func add(_ request: SyncRequest) throws {
            switch request {
            case .handshake(let message): messages.append(message)
            case .lineage(let message): messages.append(message)
            case .push(let message): messages.append(message)
            case .pull(let message): messages.append(message)
            }
            switch try rig.answer(request).get() {
            case .handshake(let answer): messages.append(answer)
            case .push(let answer): messages.append(answer)
            case .pull(let answer): messages.append(answer)
            }
        }
        for request in outcome.requests { try add(request) }
        let reader = try rig.store("reader")
        for request in try rig.sync(reader).requests { try add(request) }
        var error = WireErrorResponse()
        error.error.code = "unauthorized"
        return messages + [error]
    }

    @Test func everyFlippedBitIsDetected() throws {
        func check<M: WireMessage>(_ message: M) throws {
            let whole = try message.encoded(as: .protobuf)
            #expect(try M(decoding: whole, as: .protobuf).isEqualTo(message: message))
            for bit in 0..<whole.count * 8 {
                var changed = whole
                changed[bit / 8] ^= 1 << UInt8(bit % 8)
                let error = #expect(throws: ModelError.self) {
                    try M(decoding: changed, as: .protobuf)
                }
                #expect(error?.code == .altered, "bit \(bit) of \(message)")
            }
            for count in whole.indices {
                let error = #expect(throws: ModelError.self) {
                    try M(decoding: Array(whole[..<count]), as: .protobuf)
                }
                #expect(error?.code == .altered, "\(count) bytes of \(message)")
            }
        }
        let all = try messages()
        #expect(Set(all.map { type(of: $0).protoMessageName }).count == 7)
        for message in all { try check(message) }
    }

    /// Changes are detected even if the checksum has been recomputed, for example by a proxy.
    @Test func changedPagesAreNotRecorded() throws {
        let source = try rig.store("source")
        for number in 0..<5 { try source.note("pay \(number)00") }
        try rig.sync(source)
        let changes: [(String, (inout WirePullResponse) -> Void)] = [
            (
                "an event",
                { answer in
                    let place = answer.entries.range(of: Data("pay 100".utf8))
                    answer.entries.replaceSubrange(place ?? 0..<0, with: Data("pay 900".utf8))
                }
            ),
            ("a time", { $0.receivedAt[2] ^= 1 << 20 }),
            (
                "a refusal",
                { $0.refusals = [WireRefusal.with { ($0.position, $0.code) = (2, "no") }] }
            ),
            ("the digest", { $0.digest[3] ^= 1 }),
            ("no digest", { $0.digest = Data() }),
        ]
        for (what, change) in changes {
            let reader = try rig.store("reader of \(what)")
            var answers = 0
            let outcome = try rig.sync(
                reader,
                changing: { response in
                    guard case .pull(var answer) = response, answers < 2 else { return response }
                    answers += 1
                    #expect(reader.head == .start, "\(what) was recorded")
                    change(&answer)
                    return .pull(answer)
                })
            #expect(outcome.waits.map(\.reason).contains(.altered), "\(what)")
            #expect(outcome.report.failure == nil && outcome.report.healed == 0)
            #expect(try reader.notes() == source.notes(), "\(what)")
            #expect(try reader.verify().problems.isEmpty)
        }
        // None of the changes has reached another device.
        try rig.sync(source)
        #expect(try source.notes() == (0..<5).map { "pay \($0)00" })
    }

    /// A page whose digest is right may still contain entries that no server's log has.
    @Test func invalidPagesAreFaultsOfTheServer() throws {
        let source = try rig.store("source")
        for number in 0..<3 { try source.note("\(number)") }
        try rig.sync(source)
        func stub(_ sequences: ClosedRange<UInt64>) throws -> [UInt8] {
            let stub = try RangeStub(
                origin: source.origin, sequences: sequences, stamp: Stamp(rawValue: 1 << 20),
                before: HashChain(), after: HashChain())
            return stub.canonical
        }
        let unknown = Receipt(
            event: EventID(origin: source.origin, sequence: 9),
            lineage: LineageID(high: 1, low: 1), serverPosition: 1,
            receivedAt: Stamp(rawValue: 1 << 20), outcome: .accepted)
        var receipt: [UInt8] = []
        receipt.append(unknown)
        typealias Entries = [(kind: SyncEntryKind, body: [UInt8])]
        let changes: [(String, (inout Entries) throws -> Void)] = [
            ("an event twice", { $0.append($0[0]) }),
            ("a missing event", { $0.remove(at: 1) }),
            (
                "the sequence number 0",
                { $0[0].body.replaceSubrange(17..<25, with: [UInt8](repeating: 0, count: 8)) }
            ),
            ("a stub of its events", { $0.append((.event, try stub(1...2))) }),
            ("a stub of its last event", { $0.append((.event, try stub(3...3))) }),
            ("a stub of another history", { $0.append((.event, try stub(4...4))) }),
            ("a receipt of an unknown event", { $0.append((.receipt, receipt)) }),
        ]
        for (what, change) in changes {
            let reader = try rig.store("reader of \(what)")
            let outcome = try rig.sync(
                reader,
                changing: { response in
                    guard case .pull(var answer) = response, !answer.receivedAt.isEmpty,
                        let lineage = LineageID(answer.lineage)
                    else { return response }
                    var entries: Entries = []
                    answer.entries.withUnsafeBytes { bytes in
                        var reader = SyncEntryReader(bytes)
                        while let entry = reader.next() {
                            entries.append((entry.kind, Array(entry.body)))
                        }
                    }
                    do { try change(&entries) } catch { Issue.record(error) }
                    let time = answer.receivedAt[0]
                    var cursor = SyncCursor(lineage)
                    var bytes: [UInt8] = []
                    answer.receivedAt = entries.map { kind, body in
                        cursor.position += 1
                        body.withUnsafeBytes {
                            bytes.appendEntry(kind, $0)
                            cursor.digest.add(
                                position: cursor.position, receivedAt: Stamp(rawValue: time),
                                refusal: nil, kind: kind, $0)
                        }
                        return time
                    }
                    (answer.entries, answer.digest) = (Data(bytes), Data(cursor.digest.bytes))
                    answer.head = max(answer.head, cursor.position)
                    return .pull(answer)
                })
            #expect(outcome.report.failure?.code == .malformedRequest, "\(what)")
            #expect(reader.head == .start && outcome.report.healed == 0, "\(what)")
            #expect(try rig.sync(reader).report.failure == nil)
            #expect(try reader.notes() == source.notes(), "\(what)")
        }
    }

    /// If the server's claims about a push are believed, the events are recorded again.
    @Test func impossibleProblemsAreRefused() throws {
        let problems: [(inout WireProblem) -> Void] = [
            { $0.index = 2 }, { $0.index = .max }, { $0.origin = Data([1]) },
            { $0.origin = Data() },
            { $0.origin = OriginID(high: 5, low: 5).data },
        ]
        for (number, change) in problems.enumerated() {
            for kind in [WireProblem.Kind.fork, .gap] {
                let source = try rig.store("source \(number) \(kind)")
                for text in ["one", "two"] { try source.note(text) }
                let outcome = try rig.sync(
                    source,
                    changing: { response in
                        guard case .push(var answer) = response else { return response }
                        var problem = WireProblem()
                        (problem.kind, problem.origin) = (kind, source.origin.data)
                        change(&problem)
                        answer.problem = problem
                        return .push(answer)
                    })
                #expect(outcome.report.failure?.code == .malformedRequest, "\(number)")
                #expect(source.head == LogPosition(rawValue: 2) && outcome.report.healed == 0)
            }
        }
    }

    /// The chain of a proxy that changes every handshake is wrong, although all events agree.
    @Test func wrongChainsOfOneOriginCauseNoHealing() throws {
        let log = try rig.store("source")
        for number in 0..<5 { try log.note("\(number)") }
        try rig.sync(log)
        for last in 1...5 as ClosedRange<UInt64> {
            let outcome = try rig.sync(
                log,
                changing: { response in
                    guard case .handshake(var answer) = response else { return response }
                    answer.origins[0].chain[7] ^= 4
                    answer.origins[0].lastSequence = last
                    return .handshake(answer)
                })
            #expect(outcome.report.failure == nil && outcome.waits.map(\.reason) == [.altered])
            #expect(outcome.report.healed == 0 && log.head == LogPosition(rawValue: 5))
        }
    }

    /// A wrong range stub that one device was given, and has pushed, must not stop the device whose
    /// events it replaces.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func wrongStubsOnTheServerAreHealed(_ first: UInt64) throws {
        let log = try rig.store("source")
        for number in 0..<2 { try log.note("\(number)") }
        try rig.sync(log)
        let chain = try #require(try log.chain(of: log.origin, at: first - 1))
        let stub = try RangeStub(
            origin: log.origin, sequences: first...3, stamp: Stamp(rawValue: 1 << 20),
            before: chain, after: HashChain())
        var entries: [UInt8] = []
        stub.canonical.withUnsafeBytes { entries.appendEntry(.event, $0) }
        _ = try rig.server.push(
            rig.space,
            lineage: try #require(LineageID(try rig.server.handshake(rig.space).lineage)),
            entries: Data(entries), bases: [])
        for number in 2..<5 { try log.note("\(number)") }
        let outcome = try rig.sync(log)
        #expect(outcome.report.failure == nil && outcome.report.healed > 0)
        #expect(try rig.sync(log).report.failure == nil)
        let reader = try rig.store("reader")
        #expect(try rig.sync(reader).report.failure == nil)
        #expect(Set(try reader.notes()).isSuperset(of: ["2", "3", "4"]))
        #expect(try log.verify().problems.isEmpty)
    }

    /// A false stub on the server that ends after a device's last event, so that the device cannot
    /// compare it with the events that it has not sent yet.
    @Test(arguments: [(0, 2, 1...3), (0, 2, 2...3), (2, 4, 3...6), (2, 4, 1...6), (3, 3, 4...5)])
    func stubsOnTheServerReplaceNoUnsentEvents(
        sent: Int, count: Int, sequences: ClosedRange<UInt64>
    ) throws {
        let log = try rig.store("source")
        for number in 0..<sent { try log.note("\(number)") }
        if sent > 0 { try rig.sync(log) }
        let reader = try rig.store("reader")
        try rig.sync(reader)
        let first = sequences.lowerBound
        let chain = try log.chain(of: log.origin, at: min(first - 1, UInt64(sent)))
        let stub = try RangeStub(
            origin: log.origin, sequences: sequences, stamp: Stamp(rawValue: 1 << 20),
            before: try #require(chain), after: HashChain())
        // The server has no event between the sent ones and the stub.
        let filler = try (UInt64(sent) + 1..<max(first, UInt64(sent) + 1)).map {
            try RangeStub(
                origin: log.origin, sequences: $0...$0, stamp: Stamp(rawValue: 1 << 20),
                before: try #require(chain), after: try #require(chain))
        }
        var entries: [UInt8] = []
        for stub in filler + [stub] {
            stub.canonical.withUnsafeBytes { entries.appendEntry(.event, $0) }
        }
        let answer = try rig.server.push(
            rig.space,
            lineage: try #require(LineageID(try rig.server.handshake(rig.space).lineage)),
            entries: Data(entries), bases: [])
        #expect(!answer.hasProblem)
        for number in sent..<count { try log.note("\(number)") }
        for _ in 0..<2 {
            for log in [log, reader] { #expect(try rig.sync(log).report.failure == nil) }
        }
        let notes = (0..<count).map { "\($0)" }
        for log in [log, reader, try rig.store("other")] {
            #expect(try rig.sync(log).report.failure == nil)
            #expect(Set(try log.notes()).isSuperset(of: notes))
            #expect(try log.verify().problems.isEmpty)
        }
    }

    @Test func flippedChainBitsCauseNoHealing() throws {
        let log = try rig.store("source")
        for number in 0..<5 { try log.note("\(number)") }
        try rig.sync(log)
        // The session first asks the server to confirm its last push; the response is a handshake.
        var answers = 0
        let outcome = try rig.sync(
            log,
            changing: { response in
                guard case .handshake(var answer) = response, answers < 2 else { return response }
                answers += 1
                answer.origins[0].chain[7] ^= 4
                return .handshake(answer)
            })
        #expect(answers == 2)
        #expect(outcome.waits.map(\.reason) == [.altered])
        #expect(outcome.report.healed == 0 && outcome.report.failure == nil)
        #expect(log.head == LogPosition(rawValue: 5))
    }

    /// A file with such a position would be damaged.
    @Test(arguments: [1 << 48 + 1, .max] as [UInt64])
    func impossiblePositionsAreRefused(_ position: UInt64) throws {
        let changes: [(inout SyncResponse) -> Void] = [
            { response in
                guard case .handshake(var answer) = response else { return }
                answer.head = position
                response = .handshake(answer)
            },
            { response in
                guard case .push(var answer) = response, !answer.positions.isEmpty else { return }
                answer.positions[0] = position
                response = .push(answer)
            },
            { response in
                guard case .pull(var answer) = response else { return }
                answer.head = position
                response = .pull(answer)
            },
        ]
        for (number, change) in changes.enumerated() {
            let source = try rig.store("source \(number)")
            let event = try source.note("one")
            let outcome = try rig.sync(
                source,
                changing: { response in
                    var response = response
                    change(&response)
                    return response
                })
            #expect(outcome.report.failure?.code == .malformedRequest, "\(number)")
            #expect(try source.receipts(of: event).allSatisfy { $0.serverPosition < 1 << 48 })
        }
    }

    /// A user with several servers must see which one failed.
    @Test func failuresNameTheServer() throws {
        let log = try rig.store("source")
        try log.note("one")
        let name = "https://sync.example"
        let altered = try rig.sync(
            log, name: name,
            changing: { response in
                guard case .handshake(var answer) = response else { return response }
                answer.lineage = Data([1])
                return .handshake(answer)
            })
        #expect(
            altered.report.failure?.message
                == "\(name): the server's response to a handshake is invalid")
        for message in ["the token is unknown or revoked", "a page was changed in transit"] {
            let refused = try rig.sync(
                log, name: name, fate: { _, _ in .fails(SyncFailure(.unauthorized, "\(message)")) })
            #expect(refused.report.failure?.message == "\(name): \(message)")
        }
        for message in ["\(name) does not respond", "a response from \(name) was changed"] {
            let refused = try rig.sync(
                log, name: name, fate: { _, _ in .fails(SyncFailure(.unauthorized, "\(message)")) })
            #expect(refused.report.failure?.message == message)
        }
        let preview = #expect(throws: SyncError.self) {
            try SyncSession(log, upstream: name).preview(.handshake(WireHandshakeResponse()))
        }
        #expect(preview?.message.hasPrefix(name) == true)
        // The server is not the cause of this failure.
        try NetworkState.offline.set(in: log)
        #expect(
            try rig.sync(log, name: name).report.failure?.message
                == "this device is set to offline")
    }

    /// A short name may be part of a longer word.
    @Test(arguments: [
        ("the remote failed with 503", "tv: the remote failed with 503"),
        ("TVmaze and tvmaze refused", "tv: TVmaze and tvmaze refused"),
        ("this device is logged out of tv", "this device is logged out of tv"),
        ("https://a.example cannot be reached", "https://a.example cannot be reached"),
        ("this device is set to offline", "this device is set to offline"),
    ]) func remotesAreNamedOnce(_ message: String, _ named: String) {
        let failure = SyncFailure(.unavailable, "\(message)").naming("tv", at: "https://a.example")
        #expect(failure.message == named)
    }

    /// The placeholder `NAME` in a connector's hint is replaced by the remote's name, whatever the
    /// error code.
    @Test(arguments: [ErrorCode.unauthorized, .usage, .remoteError, .conditionFailed])
    func hintsContainTheRemotesName(_ code: ErrorCode) {
        let failure = SyncFailure(
            code, "refused", hint: "use storectl login NAME --user A or storectl login NAME"
        ).naming(Remote(name: "home", system: "shelby", url: "https://a.example", parts: []))
        #expect(failure.hint == "use storectl login home --user A or storectl login home")
        #expect(failure.message == "home: refused")
    }

    /// In a sync, a rejected login has expired, so a new login helps.
    @Test func rejectedLoginsSuggestANewLogin() {
        let home = Remote(name: "home", system: "whale", url: "https://a.example", parts: [])
        let rejected = RemoteResponse(status: 401, body: []).failure?.naming(home)
        #expect(rejected?.hint == "run storectl login home")
        #expect(SyncFailure(.unavailable, "stopped").naming(home).hint == nil)
    }

    /// Sums in a preview stop at the maximum instead of overflowing.
    @Test func previewSumsDoNotOverflow() throws {
        let log = try rig.store("store")
        try log.note("one")
        var answer = WireHandshakeResponse()
        answer.lineage = LineageID(high: 1, low: 1).data
        answer.origins = (UInt64(1)...3).map { number in
            .with {
                $0.origin = OriginID(high: number, low: number).data
                $0.lastSequence = .max
            }
        }
        let report = try SyncSession(log, upstream: "server").preview(.handshake(answer))
        #expect(report.pushed == 1 && report.pulled == .max)
    }

    @Test func formerProtocolVersionsAreRefused() throws {
        var request = WireHandshakeRequest()
        request.protocol = 1
        request.origin = OriginID(high: 1, low: 1).data
        var answer = WireHandshakeResponse()
        answer.protocol = 1
        let (requested, answered): ([UInt8], [UInt8]) = (
            try request.serializedBytes(), try answer.serializedBytes()
        )
        let errors = [
            #expect(throws: ModelError.self) {
                try WireHandshakeRequest(decoding: requested, as: .protobuf)
            },
            #expect(throws: ModelError.self) {
                try WireHandshakeResponse(decoding: answered, as: .protobuf)
            },
        ]
        for error in errors { #expect(error?.code == .protocolMismatch) }
    }
}
