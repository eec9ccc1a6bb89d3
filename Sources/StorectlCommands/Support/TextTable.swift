/// A table for people: aligned in a terminal, tab-separated in a pipe.
struct TextTable {
    /// A column.
    struct Column {
        let title: String
        /// Numbers stand to the right.
        let isNumeric: Bool
        /// Whether it is cut before others where the terminal is narrow.
        let isFlexible: Bool
        /// What its cells are.
        var form = Form.plain

        fileprivate var isText: Bool { !isNumeric && (form == .plain || form == .state) }

        /// What cells are, as people are shown them.
        enum Form {
            case plain
            /// Times, which are told from now.
            case time
            /// Times of which the hour counts, also of those that are days away.
            case moment
            /// How far something is, in the colour of that.
            case state
        }

        /// A column of text.
        static func text(_ title: String) -> Column {
            Column(title: title, isNumeric: false, isFlexible: false)
        }
        /// A column of times as reports have them; in a terminal they are told from now.
        static func time(_ title: String) -> Column {
            Column(title: title, isNumeric: false, isFlexible: false, form: .time)
        }
        /// A column of times as reports have them; in a terminal they are told from now, and with their day
        /// and hour where they are a day away or more.
        static func moment(_ title: String) -> Column {
            Column(title: title, isNumeric: false, isFlexible: false, form: .moment)
        }
        /// A column of states.
        static func state(_ title: String) -> Column {
            Column(title: title, isNumeric: false, isFlexible: false, form: .state)
        }
        /// A column of text that may be cut.
        static func long(_ title: String) -> Column {
            Column(title: title, isNumeric: false, isFlexible: true)
        }
        /// A column of numbers.
        static func number(_ title: String) -> Column {
            Column(title: title, isNumeric: true, isFlexible: false)
        }
    }

    /// No column is cut below this while another is wider.
    static let widthMin = 12
    /// Nor is the first one below this, which the key of a video fits into.
    static let nameWidthMin = 20
    /// No column is cut below this in any case.
    static let cutWidthMin = 4

    let columns: [Column]
    var rows: [[String]] = []
    /// Parts of cells that a terminal shows bold, in Unicode scalars, by row and column.
    private var boldParts: [Int: [Int: [Range<Int>]]] = [:]

    init(_ columns: [Column]) { self.columns = columns }

    /// Adds a row; what could break a line or steer a terminal is replaced.
    ///
    /// - Parameter bold: parts of cells that stand out in a terminal, in Unicode scalars, by column.
    mutating func add(_ cells: [String?], bold: [Int: [Range<Int>]] = [:]) {
        if !bold.isEmpty { boldParts[rows.count] = bold }
        rows.append(cells.map { VisibleText.line($0 ?? "-") })
    }

    /// The lines, with a line feed at each end.
    ///
    /// - Parameters:
    ///   - isColoured: whether a terminal is to show colours.
    ///   - now: Unix milliseconds from which times are told.
    func text(
        isTerminal: Bool, width: Int, isColoured: Bool = false, now: Int64 = RelativeTime.now
    ) -> String {
        guard isTerminal else {
            return rows.map { $0.joined(separator: "\t") + "\n" }.joined()
        }
        let shown = rows.map { row in
            row.enumerated().map { index, cell in
                switch columns[index].form {
                case .time: RelativeTime.text(cell, from: now)
                case .moment: RelativeTime.moment(cell, from: now)
                case .plain, .state: cell
                }
            }
        }
        let all = [columns.map { $0.title.uppercased() }] + shown
        let widths = fitted(all, to: width)
        return all.enumerated().map { number, row in
            var line = ""
            for (index, cell) in row.enumerated() {
                if index > 0 { line += "  " }
                let cut = DisplayWidth.cut(cell, to: widths[index])
                let pad = String(
                    repeating: " ", count: max(0, widths[index] - DisplayWidth.of(cut)))
                let style: TextStyle? =
                    if number == 0 {
                        .bold
                    } else if columns[index].form == .state {
                        TextStyle(ofState: cell)
                    } else {
                        nil
                    }
                let parts = number == 0 ? nil : boldParts[number - 1]?[index]
                let text =
                    if !isColoured {
                        cut
                    } else if let parts {
                        TextStyle.bold.applied(to: cut, in: parts)
                    } else {
                        style?.applied(to: cut) ?? cut
                    }
                line += columns[index].isNumeric ? pad + text : text + pad
            }
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }

    /// How wide the columns are, so that the lines fit into a terminal.
    ///
    /// Where there is not enough room, those that may be cut give way first, then other text, the widest
    /// first; the first column, by which a row is known, behind these. Numbers and times stay whole.
    private func fitted(_ all: [[String]], to width: Int) -> [Int] {
        var widths = columns.indices.map { index in
            all.map { DisplayWidth.of($0[index]) }.max() ?? 0
        }
        var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - width
        let flexible = columns.indices.filter { columns[$0].isFlexible }
        let names = columns.indices.prefix(1).filter { columns[$0].isText }
        let others = columns.indices.dropFirst().filter { columns[$0].isText }
        for (cut, least) in [
            (flexible, TextTable.widthMin), (others, TextTable.widthMin),
            (names, TextTable.nameWidthMin), (others, TextTable.cutWidthMin),
            (names, TextTable.cutWidthMin),
        ] {
            while excess > 0,
                let widest = cut.max(by: { widths[$0] < widths[$1] }), widths[widest] > least
            {
                widths[widest] -= 1
                excess -= 1
            }
        }
        return widths
    }
}
