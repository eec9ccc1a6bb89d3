import Foundation
import Testing

/// The acknowledged events, and a check that every store has them.
///
/// Every event is a comment with unique text. Events whose ids `append` has printed are
/// acknowledged, and are added to the history. `check` compares the history with stores that have
/// synced:
///
/// 1. Every store has every acknowledged event exactly once, in the log and in its lists.
/// 2. The lists contain nothing else.
/// 3. The sequence numbers of each origin have no gaps.
/// 4. All stores have the same events, and projections with the same digests.
/// 5. Incrementally folded projections equal rebuilt projections.
/// 6. `storectl verify` finds no problems.
struct SyncHistory {
    /// The relevant fields of an event in the log.
    struct Line: Decodable {
        struct Payload: Decodable { let text: String? }
        let id: String
        let type: String
        let payload: Payload?
        let payloadBase64: String?

        var origin: Substring { id.prefix { $0 != "-" } }
        var sequence: Int { Int(id.drop { $0 != "-" }.dropFirst()) ?? 0 }
        /// The text or payload that identifies the event's content.
        var content: String { payload?.text ?? payloadBase64 ?? "" }
    }

    /// Returns the video of a comment; all comments on one video fit into a page.
    private static func video(of number: Int) -> String {
        "youtube:sync\(number / commentsPerVideo)"
    }

    private static let commentsPerVideo = 250

    /// The ids of acknowledged events, by text.
    private(set) var acknowledged: [String: String] = [:]
    private var count = 0

    /// Appends events to a store and returns their texts.
    @discardableResult
    mutating func append(_ number: Int = 1, to store: Storectl) throws -> [String] {
        let numbers = count..<count + number
        count += number
        let texts = numbers.map { "n\($0)" }
        let lines = numbers.map {
            Samples.line(
                "CommentPosted", #"{"video":"\#(SyncHistory.video(of: $0))","text":"n\#($0)"}"#)
        }
        for (text, id) in zip(texts, try store.record(lines)) { acknowledged[text] = id }
        return texts
    }

    /// Removes events from the history if no copy of them is left.
    mutating func forget(_ texts: [String]) {
        for text in texts { acknowledged[text] = nil }
    }

    // MARK: - Reading

    static func lines(_ store: Storectl) throws -> [Line] {
        try store.succeed("log", "--json", "--limit", "1000000").stdout.split(separator: "\n")
            .map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    /// Returns the texts that a store's lists show; an event that no list shows is not included.
    static func shown(_ store: Storectl) throws -> [String] {
        struct Page: Decodable {
            struct Comment: Decodable { let text: String }
            let comments: [Comment]
            let next: String?
        }
        var texts: [String] = []
        for number in stride(from: 0, to: .max, by: commentsPerVideo) {
            let run = try store.run(
                ["query", "comments", video(of: number), "--limit", "500", "--json"])
            #expect(run.exit == 0, "\(run.stderr)")
            let page = try JSONDecoder().decode(Page.self, from: Data(run.stdout.utf8))
            #expect(page.next == nil)
            if page.comments.isEmpty { break }
            texts += page.comments.map(\.text)
        }
        return texts
    }

    // MARK: - Checking

    /// Checks stores that have synced.
    ///
    /// - Parameter isForked: Whether two histories of one origin have met. If so, the logs contain
    ///   both the events that lost their ids and the copies with new ids.
    func check(_ stores: [Storectl], isForked: Bool = false) throws {
        var firstContents: [String]?
        var firstDigests: [OrderedJSON]?
        for (number, store) in stores.enumerated() {
            let lines = try SyncHistory.lines(store)
            checkNames(lines, number, isForked: isForked)
            checkShown(try SyncHistory.shown(store), number)

            var contents = lines.map { "\($0.type) \($0.content)" }.sorted()
            if isForked { contents = Array(Set(contents)).sorted() }
            if let firstContents {
                let others = Set(firstContents).symmetricDifference(contents)
                #expect(others.isEmpty && contents.count == firstContents.count, "store \(number)")
            }
            firstContents = firstContents ?? contents

            let compared = try store.run("replay", "--verify", "--json")
            #expect(compared.exit == 0, "store \(number): \(compared.stdout)")
            let digests = try store.succeed("replay", "--json").document["projections"]?.list
            if let firstDigests { #expect(digests == firstDigests, "store \(number)") }
            firstDigests = firstDigests ?? digests

            let verified = try store.run("verify", "--json")
            #expect(verified.exit == 0, "store \(number): \(verified.stdout)")
        }
    }

    private func checkNames(_ lines: [Line], _ number: Int, isForked: Bool) {
        let byID = Dictionary(grouping: lines, by: \.id)
        if !isForked {
            let lost = acknowledged.filter { byID[$0.value]?.map(\.content) != [$0.key] }
            #expect(lost.isEmpty, "store \(number)")
            let twice = byID.filter { $0.value.count > 1 }
            #expect(twice.isEmpty, "store \(number)")
        }
        for (origin, events) in Dictionary(grouping: lines, by: \.origin) {
            let sequences = Set(events.map(\.sequence))
            #expect(
                sequences == Set(1...max(1, sequences.count)),
                "store \(number) has gaps in origin \(origin)")
        }
    }

    private func checkShown(_ shown: [String], _ number: Int) {
        let expected = Set(acknowledged.keys)
        let found = Set(shown)
        #expect(expected.subtracting(found).sorted() == [], "store \(number) has lost events")
        #expect(found.subtracting(expected).sorted() == [], "store \(number) shows unknown events")
        #expect(shown.count == found.count, "store \(number) shows events twice")
    }
}

extension Storectl {
    /// Appends lines as one group and returns the ids of the acknowledged events.
    func record(_ lines: [String]) throws -> [String] {
        let run = try run("append", "--file", "-", "--json", input: lines.joined())
        #expect(run.exit == 0, "\(run.stderr)")
        let document = try run.document
        try #require(document["recorded"]?.number == Double(lines.count))
        let first = try #require(document["first"]?["id"]?.text)
        let dash = try #require(first.firstIndex(of: "-"))
        let sequence = try #require(Int(first[first.index(after: dash)...]))
        return lines.indices.map { "\(first[..<dash])-\(sequence + $0)" }
    }

    /// Syncs once with a server and returns the run.
    @discardableResult
    func sync(_ url: String, _ server: ServeProcess, _ arguments: String...) throws -> Run {
        try run(["sync", url, "--token-file", server.tokenFile, "--json"] + arguments)
    }

    /// Syncs stores in turn until nothing changes.
    static func settle(
        _ stores: [Storectl], _ server: ServeProcess, url: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for _ in 0..<12 {
            var isQuiet = true
            for store in stores {
                let run = try store.sync(url ?? server.url, server)
                #expect(
                    run.exit == 0, "\(run.stdout)\(run.stderr)", sourceLocation: sourceLocation)
                let document = try run.document
                for name in ["pushed", "pulled", "healed", "renewedOrigins"]
                where document[name]?.number != 0 {
                    isQuiet = false
                }
            }
            if isQuiet { return }
        }
        Issue.record("the stores do not settle", sourceLocation: sourceLocation)
    }
}
