import Foundation
import Testing

/// # What was acknowledged, and whether it is there
///
/// Every event is a comment with a text of its own. `append` acknowledges events by their ids; from then
/// on they are in the history. `check` holds stores that have synced to it:
///
/// 1. Every acknowledged event is in every store, exactly once: in the log, and in what is shown.
/// 2. Nothing is shown that nobody has written.
/// 3. The sequences of each origin are dense.
/// 4. All stores have the same events, and projections with the same digests.
/// 5. What was folded along the way is what a rebuild gives.
/// 6. `storectl verify` finds nothing.
struct SyncHistory {
    /// An event in the log, as far as it matters here.
    struct Line: Decodable {
        struct Payload: Decodable { let text: String? }
        let id: String
        let type: String
        let payload: Payload?
        let payloadBase64: String?

        var origin: Substring { id.prefix { $0 != "-" } }
        var sequence: Int { Int(id.drop { $0 != "-" }.dropFirst()) ?? 0 }
        /// What tells its content from that of others.
        var content: String { payload?.text ?? payloadBase64 ?? "" }
    }

    /// The video on which the comment of a number is; all comments on one fit into a page.
    private static func video(of number: Int) -> String {
        "youtube:sync\(number / commentsPerVideo)"
    }

    private static let commentsPerVideo = 250

    /// The ids under which texts were acknowledged.
    private(set) var acknowledged: [String: String] = [:]
    private var count = 0

    /// Appends events to a store; gives their texts.
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

    /// Takes back what fate has destroyed: every copy of it is gone.
    mutating func forget(_ texts: [String]) {
        for text in texts { acknowledged[text] = nil }
    }

    // MARK: - Reading

    static func lines(_ store: Storectl) throws -> [Line] {
        try store.succeed("log", "--json", "--limit", "1000000").stdout.split(separator: "\n")
            .map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    /// The texts that a store shows; those of events that count nowhere are not among them.
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
    /// - Parameter isForked: whether histories of one origin have met: events that lost their names are
    ///   still in the logs then, beside what was written anew.
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
                "store \(number) has holes in origin \(origin)")
        }
    }

    private func checkShown(_ shown: [String], _ number: Int) {
        let expected = Set(acknowledged.keys)
        let found = Set(shown)
        #expect(expected.subtracting(found).sorted() == [], "store \(number) has lost events")
        #expect(found.subtracting(expected).sorted() == [], "store \(number) shows others")
        #expect(shown.count == found.count, "store \(number) shows events twice")
    }
}

extension Storectl {
    /// Appends lines as one group, and gives the ids under which they were acknowledged.
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

    /// Syncs once with a server; gives what came of it.
    @discardableResult
    func sync(_ url: String, _ server: ServeProcess, _ arguments: String...) throws -> Run {
        try run(["sync", url, "--token-file", server.tokenFile, "--json"] + arguments)
    }

    /// Syncs stores in turn until none has anything to do.
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
        Issue.record("the stores do not come to rest", sourceLocation: sourceLocation)
    }
}
