import Foundation
import TapedeckTesting
import Testing

/// The acknowledged intents for a remote, and a check of their effects.
///
/// Devices of one user like, mark and share videos; the text of every share is unique. `check`
/// compares the remote and the settled stores with the acknowledged intents:
///
/// 1. Every store contains every intent exactly once and unchanged.
/// 2. A share took effect at most once; if it did not take effect, every outbox lists it as
///    unknown.
/// 3. The outboxes contain nothing else and are the same in all stores.
/// 4. The likes and marks on the remote match the last intents.
/// 5. The remote received no invalid request.
///
/// The fourth rule requires that the remote knows which toggle is the last one. A video is
/// therefore not toggled again
///
/// - while another device has not delivered its toggle, because the last toggle to arrive wins;
/// - within two seconds, because Shelby's times have a resolution of one second;
/// - if the toggle is a mark, while this device syncs with the remote. If that sync is killed,
///   nothing shows that the mark was being sent, and it looks as if the user had set it again on
///   the remote.
struct RemoteHistory {
    /// The relevant fields of an event in the log.
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

    /// A device that records intents.
    struct Device {
        let store: Storectl
        /// Whether the device is syncing with the remote.
        let isSyncing: Bool
    }

    private struct Toggle {
        let intent: Intent
        let store: Storectl
        let time = Date()
    }

    /// The videos to like and the videos to mark; no video is in both lists, because a broadcast
    /// has only one time for both changes.
    private let (liked, marked): ([String], [String])
    /// The latest toggles, by type and video.
    private var latest: [String: Toggle] = [:]
    /// The acknowledged intents, in order.
    private(set) var acknowledged: [Intent] = []
    private var shareCount = 0

    /// Creates an empty history for the videos of the remote.
    init(videos: [String]) {
        liked = videos.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        marked = videos.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    }

    // MARK: - Recording

    /// Records intents on a device and returns them.
    mutating func want(
        on device: Device, _ random: inout SeededGenerator
    ) throws -> [Intent] {
        var wishes: [String: Intent.Payload] = [:]
        for _ in 0..<1 + random.below(3) {
            let (kind, place, isRepeated) = (random.below(4), random.next(), random.oneIn(4))
            let type = kind == 0 ? "LikeToggled" : "WatchLaterToggled"
            // The number of videos is small, so that some toggles are reversed.
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

    /// Checks a remote and the stores that have synced with it and with each other.
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

    /// Checks the outboxes and returns the intents whose outcome is unknown.
    private func checkOutboxes(_ stores: [Storectl]) throws -> Set<String> {
        let outboxes = try stores.map { store in
            try #require(
                try store.run("outbox", "--limit", "500", "--json").document["items"]?.list)
        }
        let first = try #require(outboxes.first)
        for (number, outbox) in outboxes.enumerated() where outbox != first {
            Issue.record("the outbox of store \(number) differs: \(outbox) instead of \(first)")
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
        #expect(unwanted.sorted() == [], "shared without an intent")
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
                "intents \(before); effects \(done.map { "\($0.text) at \($0.atMilliseconds)" })")
        }
    }

    /// Returns the number of intents and of delivered shares.
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
