internal import ArgumentParser
internal import Foundation
internal import Tapedeck
internal import TapedeckConnectors

/// The command `storectl status`.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what a store contains and how up to date its projections are.",
        discussion: """
            EXAMPLE:
              storectl status
              storectl status --store /tmp/demo --json
            """)

    @OptionGroup var options: StoreOptions

    func run() throws {
        let directory = try options.directory()
        let report = try options.withStore { try StatusReport($0, directory) }
        try options.print(report.json) { report.write(&$0) }
    }
}

/// The contents of a store, and the states of its projections and syncs.
private struct StatusReport {
    let directory: String
    let store: OriginID
    let origin: OriginID
    let isDemo: Bool
    let events: UInt64
    let origins: [(origin: OriginID, lastSequence: UInt64)]
    let first: EventEnvelope?
    let last: EventEnvelope?
    let unindexed: UInt64
    let files: StoreFiles
    let projections: [ProjectionStatus]
    let network: NetworkState
    let servers: [SyncStatus]
    let remotes: [RemoteStatusText]

    init(_ store: TapedeckStore, _ directory: String) throws {
        self.directory = directory
        let log = store.log
        self.store = log.storeID
        origin = log.origin
        isDemo = try log.containsSamples()
        let head = try log.currentHead()
        events = head.rawValue
        origins = try log.origins()
        first = try log.events(after: .start, limit: 1).first
        last = head > .start ? try log.event(at: head) : nil
        unindexed = try log.unindexedCount()
        let remotes = StoreRemotes(store)
        self.remotes = try remotes.all().map { RemoteStatusText(try remotes.status($0)) }
        projections = try store.projections.status()
        network = try NetworkState.current(in: log)
        servers = try SyncStatus.all(in: log)
        files = try StoreFiles(directory)
    }

    var json: JSON {
        get throws {
            [
                "path": .text(directory), "store": .text(store.description),
                "origin": .text(origin.description), "demo": .init(isDemo),
                "events": .init(events),
                "firstAt": .init(first.map { TimeArgument.text($0.stamp) }),
                "lastAt": .init(last.map { TimeArgument.text($0.stamp) }),
                "unindexed": .init(unindexed), "logBytes": .init(files.logBytes),
                "viewsBytes": .init(files.viewsBytes),
                "origins": .list(
                    origins.map {
                        ["origin": .text($0.origin.description), "events": .init($0.lastSequence)]
                    }),
                "projections": .list(try projections.map { try JSON(encoding: $0) }),
                "network": .text(network.rawValue),
                "sync": .list(servers.map(StatusReport.json)),
                "remotes": .list(remotes.map(\.json)),
            ]
        }
    }

    private static func json(_ status: SyncStatus) -> JSON {
        [
            "server": .text(status.server), "state": .text(status.state.rawValue),
            "undelivered": .init(status.undelivered),
            "contactedAt": .init(status.contactedAt.map { TimeArgument.text(Int64($0)) }),
            "reason": .init(status.reason?.rawValue), "message": .init(status.message),
            "until": .init(status.until.map { TimeArgument.text(Int64($0)) }),
        ]
    }

    private static func line(_ status: SyncStatus) -> String {
        let contact = status.contactedAt.map { TimeArgument.text(Int64($0)) } ?? "never"
        var line =
            switch status.state {
            case .never: "never synced"
            case .upToDate: "up to date as of \(contact)"
            case .behind: "\(Figures.count(status.undelivered, "event")) not delivered"
            case .waiting: "waiting"
            }
        if let reason = status.reason {
            line += ": \(reason), "
            if status.undelivered > 0 || status.contactedAt != nil {
                line += "\(Figures.count(status.undelivered, "event")) not delivered, "
            }
            line += "last response \(contact)"
        }
        return line
    }

    func write(_ text: inout TextReport) {
        text.fields([
            ("path", directory), ("store", store.description + (isDemo ? " (demo)" : "")),
            ("origin", origin.description),
            ("events", "\(Figures.grouped(events)) from \(Figures.count(origins.count, "origin"))"),
            ("first", first.map { TimeArgument.text($0.stamp) } ?? "-"),
            ("last", last.map { TimeArgument.text($0.stamp) } ?? "-"),
            ("not indexed", Figures.grouped(unindexed)),
            ("log", Figures.bytes(files.logBytes)), ("views", Figures.bytes(files.viewsBytes)),
        ])
        if !servers.isEmpty || !remotes.isEmpty {
            text.line()
            if network != .online { text.fields([("network", network.rawValue)]) }
            text.fields(
                servers.map { ($0.server, StatusReport.line($0)) }
                    + remotes.map { ($0.status.remote.name, $0.line) })
        }
        let built = projections.filter(\.isBuilt)
        if !built.isEmpty {
            var table = TextTable([
                .text("projection"), .number("version"), .number("position"), .number("behind"),
                .number("frozen"),
            ])
            for status in built {
                table.add([
                    status.name, String(status.version), Figures.grouped(status.position),
                    Figures.grouped(status.behind), Figures.grouped(status.frozen),
                ])
            }
            text.line()
            text.table(table)
        }
        if built.count < projections.count {
            let count = Figures.count(projections.count - built.count, "projection")
            text.line()
            text.fields([("not built yet", "\(count), built on first use")])
        }
    }
}
