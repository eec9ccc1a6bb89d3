/// A report for people, built line by line.
struct TextReport {
    private(set) var text = ""
    /// The lines to print on stderr after the report.
    private(set) var notices: [String] = []
    let isTerminal: Bool
    let width: Int

    init(isTerminal: Bool = StandardOutput.isTerminal, width: Int = StandardOutput.columns) {
        self.isTerminal = isTerminal
        self.width = width
    }

    /// Adds a line with hidden characters escaped.
    mutating func line(_ line: String = "") { text += VisibleText.lines(line) + "\n" }

    /// Adds a line only if the report is printed to a terminal.
    mutating func remark(_ line: String) {
        if isTerminal { self.line(line) }
    }

    /// Adds a remark about the entries that are not on this page.
    ///
    /// Without a terminal, the remark is printed on stderr if the user set no limit, because a
    /// script must not mistake the page for the complete list.
    mutating func more(_ line: String, isLimitSet: Bool) {
        if isTerminal {
            self.line(line)
        } else if !isLimitSet {
            notices.append(line)
        }
    }

    /// Adds one line per name and value, with aligned values.
    mutating func fields(_ fields: [(name: String, value: String)]) {
        let width = fields.map { DisplayWidth.of($0.name) }.max() ?? 0
        for field in fields {
            let value = VisibleText.line(field.value)
            guard isTerminal else {
                text += "\(field.name)\t\(value)\n"
                continue
            }
            let pad = String(repeating: " ", count: width - DisplayWidth.of(field.name))
            let indent = "\n" + String(repeating: " ", count: width + 2)
            let lines = DisplayWidth.wrapped(value, to: max(20, self.width - width - 2))
            text += "\(field.name)\(pad)  \(lines.joined(separator: indent))\n"
        }
    }

    /// Adds a table.
    mutating func table(_ table: TextTable) {
        text += table.text(
            isTerminal: isTerminal, width: width,
            isColoured: isTerminal && StandardOutput.isColoured)
    }
}
