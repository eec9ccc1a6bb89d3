internal import Synchronization
internal import TapedeckSyncProtocol

/// The metrics at `/metrics`, in Prometheus' text format.
final class ServerMetrics: Sendable {
    private let requests = Mutex<[Answer: UInt64]>([:])
    private let receivedBytes = Atomic<UInt64>(0)
    private let sentBytes = Atomic<UInt64>(0)
    private let accepted = Atomic<UInt64>(0)
    private let duplicates = Atomic<UInt64>(0)
    private let refused = Atomic<UInt64>(0)

    private struct Answer: Hashable {
        var route: String
        var status: Int
    }

    func count(route: SyncRoute?, status: Int, received: Int, sent: Int) {
        // Unknown paths are not used as labels, because there would be no limit to their number.
        let answer = Answer(route: route?.rawValue ?? "other", status: status)
        requests.withLock { $0[answer, default: 0] += 1 }
        receivedBytes.wrappingAdd(UInt64(received), ordering: .relaxed)
        sentBytes.wrappingAdd(UInt64(sent), ordering: .relaxed)
    }

    func countSent(_ bytes: Int) {
        sentBytes.wrappingAdd(UInt64(bytes), ordering: .relaxed)
    }

    func count(_ push: WirePushResponse) {
        accepted.wrappingAdd(push.fresh, ordering: .relaxed)
        duplicates.wrappingAdd(UInt64(push.positions.count) - push.fresh, ordering: .relaxed)
        refused.wrappingAdd(UInt64(push.refusals.count), ordering: .relaxed)
    }

    func text(_ counts: StorageCounts, live: Int) -> String {
        var page = Page()
        page.begin("tapedeck_requests_total", "counter", "Answered requests.")
        let answers = requests.withLock { $0 }
        for (answer, count) in answers.sorted(by: {
            ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status)
        }) {
            page.line("{route=\"\(answer.route)\",status=\"\(answer.status)\"}", count)
        }
        page.begin("tapedeck_pushed_entries_total", "counter", "Pushed entries.")
        page.line("{outcome=\"accepted\"}", accepted.load(ordering: .relaxed))
        page.line("{outcome=\"duplicate\"}", duplicates.load(ordering: .relaxed))
        page.begin(
            "tapedeck_refusals_total", "counter",
            "Refused events in responses, including repeats.")
        page.line("", refused.load(ordering: .relaxed))
        page.begin("tapedeck_received_bytes_total", "counter", "Bytes of request bodies.")
        page.line("", receivedBytes.load(ordering: .relaxed))
        page.begin("tapedeck_sent_bytes_total", "counter", "Bytes of response bodies.")
        page.line("", sentBytes.load(ordering: .relaxed))
        page.begin("tapedeck_commits_total", "counter", "Commits to disk.")
        page.line("", counts.commits)
        page.begin("tapedeck_commit_seconds_total", "counter", "Time spent in commits.")
        page.line("", counts.commitSeconds)
        page.begin("tapedeck_live_connections", "gauge", "Open live connections.")
        page.line("", live)
        page.begin("tapedeck_spaces", "gauge", "Spaces.")
        page.line("", counts.spaces)
        page.begin("tapedeck_entries", "gauge", "Entries in all spaces.")
        page.line("", counts.headsTotal)
        return page.text
    }

    private struct Page {
        var text = ""
        private var name = ""

        mutating func begin(_ name: String, _ kind: String, _ help: String) {
            self.name = name
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
        }

        mutating func line(_ labels: String, _ value: some CustomStringConvertible) {
            text += "\(name)\(labels) \(value)\n"
        }
    }
}
