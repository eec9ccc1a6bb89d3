/// A text table that is aligned in a terminal and tab-separated in a pipe.
struct TextTable {
    /// A column.
    struct Column {
        let title: String
        /// Whether the cells are numbers, which are aligned to the right.
        let isNumeric: Bool
        /// Whether the column is shortened before other columns in a narrow terminal.
        let isFlexible: Bool
        /// How a terminal displays the cells.
        var form = Form.plain

        fileprivate var isText: Bool { !isNumeric && (form == .plain || form == .state) }

        /// The ways in which a terminal can display cells.
        enum Form {
            case plain
            /// Times, shown relative to now.
            case time
            /// Times, shown relative to now, or as a date and time if they are a day away or more.
            case moment
            /// States, shown in their colours.
            case state
        }

        /// Creates a column of text.
        static func text(_ title: String) -> Column {
            Column(title: title, isNumeric: false, isFlexible: false)
        }
        /// Creates a column of times, which a terminal shows relative to now.
        static func time(_ title: String) -> Column {
            Column(title: title, isNumeric: false, isFlexible: false, form: .time)
        }
        /// Creates a column of times, which a terminal shows relative to now, or as a date and time
        /// if they are a day away or more.
        static func moment(_ title: String) -> Column {
            Column(title: title, isNumeric: false, isFlexible: false, form: .moment)
        }
        /// Creates a column of states.
        static func state(_ title: String) -> Column {
            Column(title: title, isNumeric: false, isFlexible: false, form: .state)
        }
        /// Creates a column of text that may be shortened.
        static func long(_ title: String) -> Column {
            Column(title: title, isNumeric: false, isFlexible: true)
        }
        /// Creates a column of numbers.
        static func number(_ title: String) -> Column {
            Column(title: title, isNumeric: true, isFlexible: false)
        }
    }

    /// The width to which text columns are shortened first.
    static let widthMin = 12
    /// The width to which the first column is initially shortened; a video key fits into this
    /// width.
    static let nameWidthMin = 20
    /// The width to which text columns are shortened if the lines are still too long.
    static let cutWidthMin = 4

    let columns: [Column]
    var rows: [[String]] = []
    /// The parts of cells that a terminal shows in bold, as ranges in Unicode scalars, by row and
    /// column.
    private var boldParts: [Int: [Int: [Range<Int>]]] = [:]

    init(_ columns: [Column]) { self.columns = columns }

    /// Adds a row, with control characters in its cells escaped.
    ///
    /// - Parameter bold: The parts of cells that a terminal shows in bold, as ranges in Unicode
    ///   scalars, by column.
    mutating func add(_ cells: [String?], bold: [Int: [Range<Int>]] = [:]) {
        let visible = cells.map { VisibleText.line($0 ?? "-") }
        for (index, parts) in bold {
            boldParts[rows.count, default: [:]][index] =
                visible[index] == cells[index]
                ? parts : parts.map { TextTable.shifted($0, in: cells[index] ?? "") }
        }
        rows.append(visible)
    }

    /// Returns where a part of a cell is after hidden characters have been escaped.
    private static func shifted(_ part: Range<Int>, in cell: String) -> Range<Int> {
        let ends = [part.lowerBound, part.upperBound].map { end in
            let start = String(String.UnicodeScalarView(cell.unicodeScalars.prefix(end)))
            return VisibleText.line(start).unicodeScalars.count
        }
        return ends[0]..<ends[1]
    }

    /// Returns the table's lines, each ended by a line feed.
    ///
    /// - Parameters:
    ///   - isColoured: Whether to use colours in a terminal.
    ///   - now: The time to which other times are relative, in milliseconds since 1970.
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

    /// Returns the widths of columns that make the lines fit into a terminal.
    ///
    /// If space is short, flexible columns are shortened first, then other text columns, then the
    /// first column, which identifies the row. In each group, the widest column is shortened first.
    /// Numbers and times are never shortened.
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
