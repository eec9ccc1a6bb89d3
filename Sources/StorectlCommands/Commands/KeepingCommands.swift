internal import ArgumentParser
internal import Foundation
internal import Tapedeck

/// `storectl export`.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write all events to a file that any store can import.",
        discussion: """
            The file holds identities, hash chains and receipts, and says the same on every machine.

            EXAMPLE:
              storectl export events.tapedeck
            """)

    @Argument(help: "Where to; what stands there is replaced.", completion: .file())
    var file: String

    @OptionGroup var options: StoreOptions

    func run() throws {
        let summary = try options.withLog { log in
            try ProgressMeter.showing("events") { try log.export(to: file, progress: $0) }
        }
        try options.print(JSON(encoding: summary)) { text in
            text.line(
                "exported \(Figures.count(summary.events, "event")) of"
                    + " \(Figures.count(summary.origins, "origin")) and"
                    + " \(Figures.count(summary.receipts, "receipt")) to \(file),"
                    + " \(Figures.bytes(summary.bytes))")
            text.line("digest \(summary.digest)")
        }
    }
}

/// `storectl import`.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Record the events of an exported file that are not known yet.",
        discussion: """
            A file that is damaged, or that contradicts what is recorded, is refused before anything of \
            it is recorded.

            EXAMPLE:
              storectl import events.tapedeck
            """)

    @Argument(help: "What storectl export wrote.", completion: .file())
    var file: String

    @OptionGroup var options: StoreOptions

    func run() throws {
        let summary = try options.withLog { log in
            try ProgressMeter.showing("events") { try log.importEvents(from: file, progress: $0) }
        }
        try options.print(JSON(encoding: summary)) { text in
            text.line(
                "recorded \(Figures.count(summary.recorded, "event")) and"
                    + " \(Figures.count(summary.receipts, "receipt"));"
                    + " \(Figures.grouped(summary.known)) were known")
        }
    }
}

/// `storectl backup`.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy a store to one file while it is in use.",
        discussion: """
            EXAMPLE:
              storectl backup tapedeck-$(date +%F).backup
            """)

    @Argument(help: "Where to; what stands there is replaced.", completion: .file())
    var file: String

    @OptionGroup var options: StoreOptions

    func run() throws {
        let summary = try options.withLog { try $0.backup(to: file) }
        try options.print(JSON(encoding: summary)) { text in
            text.line(
                "copied \(Figures.count(summary.events, "event")) to \(file),"
                    + " \(Figures.bytes(summary.bytes))")
        }
    }
}

/// `storectl restore`.
struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Make a store of a backup where there is none.",
        discussion: """
            The restored store goes on under an origin of its own, so that it cannot contradict the \
            store that the backup was taken of.

            EXAMPLE:
              storectl restore tapedeck-2019-07-11.backup --store ~/restored
            """)

    @Argument(help: "What storectl backup wrote.", completion: .file())
    var file: String

    @OptionGroup var options: StoreOptions

    func run() throws {
        let directory = try options.directory()
        CrashGuard.install(directory, isJSON: options.json, hint: "use another backup")
        let summary = try EventLog.restore(from: file, into: directory)
        try options.print(JSON(encoding: summary)) { text in
            text.line("restored \(Figures.count(summary.events, "event")) into \(directory)")
        }
    }
}

/// `storectl erase`.
struct EraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Delete a store, all of it.",
        discussion: """
            Files in its directory that are not the store's stay. No other process may be using it.

            EXAMPLE:
              storectl erase --yes --store /tmp/demo
            """)

    @Flag(help: "That it is meant so; without it nothing is deleted.")
    var yes = false

    @OptionGroup var options: StoreOptions

    func run() throws {
        let directory = try options.directory()
        guard yes else {
            throw CommandError(
                .usage, "this would delete the store in \(directory) for ever",
                hint: "storectl backup FILE keeps a copy; storectl erase --yes deletes")
        }
        let files = try? StoreFiles(directory)
        try EventLog.erase(directory)
        // Lock files, and what a rebuild that was cut off has left.
        let others = (files?.leftovers.map(\.name) ?? []) + ["rebuild.lock"]
        for name in others { unlink("\(directory)/\(name)") }
        rmdir(directory)
        try options.print(["path": .text(directory), "erased": .init(true)]) { text in
            text.line("erased the store in \(directory)")
        }
    }
}

extension ProgressMeter {
    /// Runs long work on a log with a bar, which is gone when it returns.
    static func showing<R>(
        _ unit: String, _ body: (@escaping LogProgress.Report) throws -> R
    ) rethrows -> R {
        let meter = ProgressMeter(unit)
        defer { meter.finish() }
        return try body { meter.update($0.phase.rawValue, done: $0.done, total: $0.total) }
    }
}
