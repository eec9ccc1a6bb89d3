internal import ArgumentParser
internal import Tapedeck

/// The command `storectl init`.
struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create a store.",
        discussion: """
            A demo store contains sample activity for trying the other commands. The events of a \
            demo store are tagged demo/sample. A store that contains such events cannot be synced.

            EXAMPLE:
              storectl init
              storectl init --demo --store /tmp/demo
            """)

    @Flag(help: "Fill the store with sample activity.")
    var demo = false

    @OptionGroup var options: StoreOptions

    func run() throws {
        let directory = try options.directory()
        let events = demo ? try DemoStore.events() : []
        let log = try EventLog.create(directory, events: events)
        defer { log.close() }
        let document: JSON = [
            "path": .text(directory), "store": .text(log.storeID.description),
            "origin": .text(log.origin.description), "demo": .init(demo),
            "recorded": .init(events.count),
        ]
        try options.print(document) { text in
            text.line("created a store in \(directory)")
            if demo {
                text.line("recorded \(Figures.count(events.count, "sample event"))")
                text.remark("try: storectl query videos --store \(ShellWord.quoted(directory))")
            }
        }
    }
}
