import TestSupport
import Testing

@testable import StorectlCommands

@Suite(.offTasks) struct BarPlotTests {
    private static func plot(_ values: [Double]) -> BarPlot {
        var plot = BarPlot()
        for (index, value) in values.enumerated() {
            plot.add("day \(index)", value, "\(Int(value)) s")
        }
        return plot
    }

    @Test func theLongestBarFillsTheLine() {
        let lines = Self.plot([10, 40, 20, 0]).lines(width: 80)
        #expect(lines.allSatisfy { DisplayWidth.of($0) <= 80 })
        func cells(_ line: String) -> Int { line.filter { $0 == "█" }.count }
        #expect(cells(lines[1]) == 4 * cells(lines[0]) || cells(lines[1]) / 4 == cells(lines[0]))
        #expect(cells(lines[1]) > 60 && cells(lines[3]) == 0)
        #expect(lines[3] == "day 3  0 s")
    }

    @Test func smallBarsAreDrawnInEighths() {
        let lines = Self.plot([800, 1]).lines(width: 30)
        #expect(!lines[1].contains("█") && lines[0].contains("█"))
    }

    @Test func zeroHasNoBar() {
        #expect(Self.plot([0]).lines(width: 80) == ["day 0  0 s"])
        #expect(BarPlot().lines(width: 80).isEmpty)
    }
}
