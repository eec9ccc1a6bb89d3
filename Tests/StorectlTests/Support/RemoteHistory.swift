import Foundation
import TapedeckTesting
import Testing

/// # What was wanted of a remote, and what has become of it
///
/// Devices of one user want likes, marks and shares; every share has a text of its own. `check` holds the
/// remote, and stores that have come to rest, to what was acknowledged:
///
/// 1. Every intent is in every store, once, as it was wanted.
/// 2. A share took effect once, or not at all; if not, every outbox lists it as unknown.
/// 3. Nothing else is in an outbox, and those of all stores are equal.
/// 4. Likes and marks stand at the remote as they were wanted last.
/// 5. The remote was asked for nothing that it does not know.
///
/// The fourth holds where the remote can tell what came last, so a video is not toggled again
///
/// - while another device has not delivered its toggle: what arrives last stays;
/// - within a second or two: Shelby's times are whole seconds;
/// - if it is a mark, while this device speaks with the remote: should it be killed then, nothing tells
///   that the mark was on its way, and it looks as if the user had set it again there.
struct RemoteHistory {
    /// An event in the log, as far as it matters here.
    struct Intent: Hashable, Decodable, CustomStringConvertible {
        struct Payload: Hashable, Decodable {
            let video: String
            var isOn: Bool?
            var text: String?
        }

        let id: String
        let type: String
        let payload: Payload

        var description: String {
            let what = payload.text ?? (payload.isOn == true ? "on" : "off")
            return "\(type) \(payload.video) \(what) (\(id))"
        }
    }

    /// A device that wants something.
    struct Device {
        let store: Storectl
        /// Whether it speaks with the remote just now.
        let isSyncing: Bool
    }

    private struct Toggle {
        let intent: Intent
        let store: Storectl
        let time = Date()
    }

    /// What can be liked, and what can be marked: a broadcast has one time for both.
    private let (liked, marked): ([String], [String])
    /// The latest of each register, by type and video.
    private var latest: [String: Toggle] = [:]
    /// What was acknowledged, in the order in which it was.
    private(set) var acknowledged: [Intent] = []
    private var shareCount = 0

    /// Begins with the videos that the remote has.
    init(videos: [String]) {
        liked = videos.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        marked = videos.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    }

    // MARK: - Wanting

    /// Wants something of the remote, on one device; says what.
    mutating func want(
        on device: Device, _ random: inout SeededGenerator
    ) throws -> [Intent] {
        var wishes: [String: Intent.Payload] = [:]
        for _ in 0..<1 + random.below(3) {
            let (kind, place, isRepeated) = (random.below(4), random.next(), random.oneIn(4))
            let type = kind == 0 ? "LikeToggled" : "WatchLaterToggled"
            // Of few, so that they are toggled back, too.
            let videos = (kind == 0 ? liked : marked).prefix(4)
            let video = videos[Int(place % UInt64(videos.count))]
            if kind < 2, try canToggle(type, video, on: device) {
                let isOn = latest["\(type) \(video)"]?.intent.payload.isOn ?? false
                wishes["\(type) \(video)"] = .init(video: video, isOn: isRepeated ? isOn : !isOn)
            } else {
                shareCount += 1
                let all = liked + marked
                wishes["VideoShared \(shareCount)"] = .init(
                    video: all[Int(place % UInt64(all.count))], text: "share \(shareCount)")
            }
        }
        let sorted = wishes.sorted { $0.key < $1.key }.map { wish in
            (type: String(wish.key.prefix { $0 != " " }), payload: wish.value)
        }
        let ids = try device.store.record(sorted.map { Samples.line($0.type, $0.payload.json) })
        let intents = zip(ids, sorted).map { Intent(id: $0, type: $1.type, payload: $1.payload) }
        for intent in intents where intent.payload.isOn != nil {
            latest["\(intent.type) \(intent.payload.video)"] = Toggle(
                intent: intent, store: device.store)
        }
        acknowledged += intents
        return intents
    }

    private func canToggle(_ type: String, _ video: String, on device: Device) throws -> Bool {
        if type == "WatchLaterToggled", device.isSyncing { return false }
        guard let former = latest["\(type) \(video)"] else { return true }
        if former.time.timeIntervalSinceNow > -2 { return false }
        if former.store.store == device.store.store { return true }
        let items = try former.store.run("outbox", "--limit", "500", "--json").document["items"]
        return try !#require(items?.list).contains { $0["event"]?.text == former.intent.id }
    }

    // MARK: - Checking

    /// Checks a remote, and stores that have synced with it and with each other.
    func check(_ remote: ShelbyProcess, _ stores: [Storectl]) throws {
        for (number, store) in stores.enumerated() {
            let found = try RemoteHistory.intents(in: store)
            #expect(found.count == acknowledged.count, "store \(number)")
            let lost = Set(acknowledged).subtracting(found)
            #expect(lost.isEmpty, "store \(number) has lost intents")
        }
        let unknown = try checkOutboxes(stores)
        let effects = try remote.effects
        try checkShares(effects, unknown)
        checkStandings(try remote.standings, effects, broadcasts: try stores[0].videos())
        #expect(try remote.violations == "[]")
    }

    private static func intents(in store: Storectl) throws -> [Intent] {
        try ["LikeToggled", "WatchLaterToggled", "VideoShared"].flatMap { type in
            try store.succeed("log", "--type", type, "--json", "--limit", "1000000").stdout
                .split(separator: "\n")
                .map { try JSONDecoder().decode(Intent.self, from: Data($0.utf8)) }
        }
    }

    /// Gives the intents of which nobody knows what has become.
    private func checkOutboxes(_ stores: [Storectl]) throws -> Set<String> {
        let outboxes = try stores.map { store in
            try #require(
                try store.run("outbox", "--limit", "500", "--json").document["items"]?.list)
        }
        let first = try #require(outboxes.first)
        for (number, outbox) in outboxes.enumerated() where outbox != first {
            Issue.record("store \(number) has another outbox: \(outbox), and not \(first)")
        }
        for item in first {
            #expect(item["type"]?.text == "VideoShared", "\(item)")
            #expect(item["delivery"]?["state"]?.text == "unknown", "\(item)")
        }
        return Set(first.compactMap { $0["event"]?.text })
    }

    private func checkShares(
        _ effects: [ShelbyProcess.Effect], _ unknown: Set<String>
    ) throws {
        let shared = effects.filter { $0.kind == "share" }.map(\.text)
        let twice = Dictionary(grouping: shared, by: \.self).filter { $0.value.count > 1 }.keys
        #expect(twice.sorted() == [], "shared twice")
        let wanted = acknowledged.filter { $0.payload.text != nil }
        let unwanted = Set(shared).subtracting(wanted.compactMap(\.payload.text))
        #expect(unwanted.sorted() == [], "shared, and nobody wanted it")
        for intent in wanted where !unknown.contains(intent.id) {
            #expect(shared.contains(intent.payload.text ?? ""), "\(intent) was lost")
        }
    }

    private func checkStandings(
        _ standings: [String: ShelbyProcess.Standing], _ effects: [ShelbyProcess.Effect],
        broadcasts: [ShelbyProcess.Video]
    ) {
        for intent in latest.values.map(\.intent).sorted(by: { $0.id < $1.id }) {
            let video = intent.payload.video
            let standing = standings[video] ?? .init()
            let isOn = intent.type == "LikeToggled" ? standing.isLiked : standing.isMarked
            let before = acknowledged.filter {
                $0.type == intent.type && $0.payload.video == video
            }
            let known = broadcasts.filter { $0.key == video }.map(\.broadcast)
            let done = effects.filter { known.contains($0.entity) && $0.kind == "flag" }
            #expect(
                isOn == intent.payload.isOn,
                "wanted \(before); done \(done.map { "\($0.text) at \($0.atMilliseconds)" })")
        }
    }

    /// How many intents there were, and what became of shares.
    func summary(_ remote: ShelbyProcess) throws -> String {
        let shares = acknowledged.count { $0.payload.text != nil }
        let shared = try remote.effects.count { $0.kind == "share" }
        return "\(acknowledged.count) intents, \(shared) of \(shares) shares done"
    }
}

extension RemoteHistory.Intent.Payload {
    fileprivate var json: String {
        let rest =
            text.map { #""destinations":["twitter"],"text":"\#($0)""# }
            ?? #""isOn":\#(isOn == true)"#
        return #"{"video":"\#(video)",\#(rest)}"#
    }
}
