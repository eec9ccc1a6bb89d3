internal import ArgumentParser
internal import Tapedeck

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
