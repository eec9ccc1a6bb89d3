internal import ArgumentParser
internal import Tapedeck

/// The command `storectl watch search`.
struct WatchSearchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Watch search results; see query search.",
        discussion: """
            EXAMPLE:
              storectl watch search big bu
              storectl watch search zoe --in users --json
            """)

    @OptionGroup var searched: SearchOptions
    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let search = try LiveSearch(
            searched.joined, in: searched.scope?.scope, limit: watching.limit)
        try watching.run(search, .standard, options) {
            [$0.kind.rawValue, $0.about ?? $0.id, $0.texts.first?.text]
        }
    }
}
