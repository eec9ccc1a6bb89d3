/// A bar chart in text form, with one bar per line.
struct BarPlot {
    private var bars: [(name: String, value: Double, label: String)] = []

    /// Adds a bar that is followed by a label.
    mutating func add(_ name: String, _ value: Double, _ label: String) {
        bars.append((name, value, label))
    }

    /// Returns the lines of the chart, with bars drawn to the nearest eighth of a column.
    ///
    /// The longest bar fills the space that names and labels leave free.
    func lines(width: Int) -> [String] {
        let names = bars.map { DisplayWidth.of($0.name) }.max() ?? 0
        let labels = bars.map { DisplayWidth.of($0.label) }.max() ?? 0
        let room = max(8, width - names - labels - 4)
        let most = bars.map(\.value).max() ?? 0
        return bars.map { bar in
            let eighths = most > 0 ? Int((bar.value / most * Double(room) * 8).rounded()) : 0
            let cells =
                String(repeating: "█", count: eighths / 8)
                + (eighths % 8 > 0 ? String(BarPlot.parts[eighths % 8 - 1]) : "")
            let name =
                bar.name + String(repeating: " ", count: names - DisplayWidth.of(bar.name))
            return "\(name)  \(cells)\(cells.isEmpty ? "" : " ")\(bar.label)"
        }
    }

    private static let parts = Array("▏▎▍▌▋▊▉")
}
