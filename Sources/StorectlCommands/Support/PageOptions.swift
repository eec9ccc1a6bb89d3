internal import ArgumentParser
internal import Tapedeck

/// The options that select a page of a list.
struct PageOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The maximum number of entries, 1 to 500.", valueName: "n"))
    var limit = QueryLimits.pageCountDefault

    @Option(
        help: ArgumentHelp(
            "The \"next\" value of the previous page.", valueName: "next"))
    var cursor: String?

    /// Adds a remark to a text report if there are more entries.
    func remark(
        next: String?, _ report: inout TextReport, saying what: String = "there is more"
    ) {
        guard let next else { return }
        report.more(
            "\(what): --cursor \(ShellWord.quoted(next))",
            isLimitSet: limit != QueryLimits.pageCountDefault)
    }
}
