internal import ArgumentParser
internal import Foundation
internal import Tapedeck
internal import TapedeckConnectors

/// The options of every command that works on a store.
struct StoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The store's directory (default: $TAPEDECK_STORE, or tapedeck in the XDG data directory).",
            valueName: "dir"), completion: .directory)
    var store: String?

    @Flag(help: "Print one JSON document instead of text.")
    var json = false

    private static let crashHint =
        "check the log with storectl verify; if it is damaged, restore a backup; otherwise, run"
        + " storectl replay to rebuild the lists"

    /// Returns the store's directory.
    func directory() throws -> String {
        try StoreOptions.directory(option: store, environment: ProcessInfo.processInfo.environment)
    }

    static func directory(option: String?, environment: [String: String]) throws -> String {
        if let option {
            guard !option.isEmpty else {
                throw CommandError(.usage, "--store is empty", hint: "specify a directory")
            }
            return option
        }
        if let named = environment["TAPEDECK_STORE"], !named.isEmpty { return named }
        // The XDG specification says to ignore paths that are not absolute.
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
            return data + "/tapedeck"
        }
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
        return home + "/.local/share/tapedeck"
    }

    /// Opens the store with its projections, and closes it after `body`.
    func withStore<R>(
        _ projections: VideoProjections = .standard, _ body: (TapedeckStore) throws -> R
    ) throws -> R {
        let store = try openStore(projections)
        defer { store.close() }
        return try body(store)
    }

    /// Opens the store with its projections; the caller must close it.
    func openStore(_ projections: VideoProjections = .standard) throws -> TapedeckStore {
        let directory = try directory()
        CrashGuard.install(directory, isJSON: json, hint: StoreOptions.crashHint)
        return try TapedeckStore.open(
            directory, creating: false, projections: ShippedProjections.all(projections))
    }

    /// Opens the store and its remotes, and closes them after `body`.
    func withRemotes<R>(_ body: (StoreRemotes) throws -> R) throws -> R {
        try withStore { try body(StoreRemotes($0)) }
    }

    /// Opens the log and, if a remote has ever been added, the remotes.
    ///
    /// If no remote has been added, projections are not opened, so the store may be on a read-only
    /// medium.
    func withLogAndRemotes<R>(_ body: (EventLog, StoreRemotes?) throws -> R) throws -> R {
        try withLog(isReading: true) { log in
            guard try !log.events(after: .start, limit: 1, type: RemoteAdded.eventType).isEmpty
            else { return try body(log, nil) }
            let runner = ProjectionRunner(log, projections: ShippedProjections.all())
            defer { runner.close() }
            return try body(log, StoreRemotes(log, runner))
        }
    }

    /// Opens only the log, and closes it after `body`.
    ///
    /// - Parameter isReading: Whether `body` only reads; the store may then be on a read-only
    ///   medium.
    func withLog<R>(isReading: Bool = false, _ body: (EventLog) throws -> R) throws -> R {
        let directory = try directory()
        CrashGuard.install(directory, isJSON: json, hint: StoreOptions.crashHint)
        let log = try StoreOptions.trying(isReading: isReading) {
            try EventLog(opening: directory, options: $0)
        }
        defer { log.close() }
        return try body(log)
    }

    /// Runs `body` with the default options; if `isReading` is true and the medium is read-only,
    /// runs it again with read-only options.
    static func trying<R>(isReading: Bool, _ body: (EventLog.Options) throws -> R) throws -> R {
        do {
            return try body(EventLog.Options())
        } catch let error as LogError where isReading && error.code == .readOnly {
            return try body(EventLog.Options(isReadOnly: true))
        }
    }

    /// Prints a report as JSON or as text.
    func print(
        _ document: @autoclosure () throws -> JSON, _ text: (inout TextReport) -> Void
    ) throws {
        if json {
            try StandardOutput.line(document().line)
        } else {
            var report = TextReport()
            text(&report)
            try StandardOutput.write(report.text)
            report.notices.forEach(StandardOutput.diagnose)
        }
    }
}

extension StoreOptions {
    /// Queries the given projections in their current state; other projections are not updated.
    func query<R>(
        _ projections: VideoProjections, _ wanted: [any Projection],
        _ body: (VideoQueries<Views>) throws -> R
    ) throws -> R {
        try withStore(projections) { store in
            try ProgressMeter.building(wanted, of: store)
            return try store.projections.read(wanted.map(\.name)) { views in
                try body(VideoQueries(views, projections: projections))
            }
        }
    }
}

extension StoreRemotes {
    /// Creates the remotes of an open store.
    init(_ store: TapedeckStore) { self.init(store.log, store.projections) }
}
