internal import ArgumentParser
internal import Foundation
internal import Tapedeck

/// What every command that works on a store takes.
struct StoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The store's directory; else TAPEDECK_STORE, else tapedeck in the XDG data directory.",
            valueName: "dir"), completion: .directory)
    var store: String?

    @Flag(help: "Print one JSON document instead of text.")
    var json = false

    /// Where the store is.
    func directory() throws -> String {
        try StoreOptions.directory(option: store, environment: ProcessInfo.processInfo.environment)
    }

    static func directory(option: String?, environment: [String: String]) throws -> String {
        if let option {
            guard !option.isEmpty else {
                throw CommandError(.usage, "--store is empty", hint: "name a directory")
            }
            return option
        }
        if let named = environment["TAPEDECK_STORE"], !named.isEmpty { return named }
        // The XDG rules leave a path aside that is not absolute.
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
            return data + "/tapedeck"
        }
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
        return home + "/.local/share/tapedeck"
    }

    /// Opens the store with its projections, and closes it behind `body`.
    func withStore<R>(
        _ projections: VideoProjections = .standard, _ body: (TapedeckStore) throws -> R
    ) throws -> R {
        let directory = try directory()
        CrashGuard.install(
            directory, isJSON: json, hint: "storectl verify says more; restore a backup")
        let store = try TapedeckStore.open(
            directory, creating: false, projections: projections.all)
        defer { store.close() }
        return try body(store)
    }

    /// Opens the log alone, and closes it behind `body`.
    func withLog<R>(_ body: (EventLog) throws -> R) throws -> R {
        let directory = try directory()
        CrashGuard.install(
            directory, isJSON: json, hint: "storectl verify says more; restore a backup")
        let log = try EventLog(opening: directory)
        defer { log.close() }
        return try body(log)
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
        }
    }
}

/// A page of a list.
struct PageOptions: ParsableArguments {
    @Option(help: ArgumentHelp("How many entries at the most, 1 to 500.", valueName: "n"))
    var limit = QueryLimits.pageCountDefault

    @Option(
        help: ArgumentHelp(
            "The \"next\" of the page before, for the page behind it.", valueName: "next"))
    var cursor: String?

    /// Says in text that there is more.
    func remark(next: String?, _ report: inout TextReport) {
        if let next { report.remark("there is more: --cursor \(next)") }
    }
}

/// The parameters of projections; each choice has tables of its own.
struct ParameterOptions: ParsableArguments {
    @Option(help: "Which broadcast stands for a video that was shared more than once.")
    var winner = WinnerArgument.oldest

    @Option(
        help: "When watching takes a video off watch-later: at 75 %, or by the rule of 2012.")
    var rule = RuleArgument.default

    /// The projections with these parameters.
    var projections: VideoProjections {
        VideoProjections(winner: winner.rule, watchLaterRule: rule.rule)
    }
}

/// `oldest` or `newest`.
enum WinnerArgument: String, ExpressibleByArgument, CaseIterable {
    case oldest, newest

    var rule: WinnerRule { self == .oldest ? .oldest : .newest }
}

/// `default` or `2012`.
enum RuleArgument: String, ExpressibleByArgument, CaseIterable {
    case `default`
    case of2012 = "2012"

    var rule: WatchLaterRule { self == .default ? .crossing : .rule2012 }
}
