import Tapedeck
import TestSupport
import Testing

@testable import StorectlCommands

/// The parts of reports: JSON, tables, numbers and bars.
@Suite(.offTasks) struct ReportFormTests {
    @Test func jsonKeepsOrderAndEscapesSpecialCharacters() {
        let document: JSON = [
            "z": .init(1), "a": .text("\"\\\n\u{1}\u{7F}\u{9B}é€"), "n": .init(String?.none),
            "d": .number(0.5), "w": .number(3), "inf": .number(.infinity),
            "l": .list([.bool(true)]),
        ]
        let expected =
            #"{"z":1,"a":"\"\\\n\u0001\u007f\u009bé€","n":null,"d":0.5,"w":3,"inf":null,"#
            + #""l":[true]}"#
        #expect(document.line == expected)
    }

    @Test func encoderKeepsTheOrderOfAnEncodable() throws {
        struct Inner: Encodable {
            var z = 1
            var a: [Double] = [1.5, 2]
        }
        struct Outer: Encodable {
            var name = "x"
            var inner = [Inner()]
            var big = UInt64.max
            var empty: [Int] = []
            var flag = false
        }
        let line = try JSON(encoding: Outer()).line
        let expected =
            #"{"name":"x","inner":[{"z":1,"a":[1.5,2]}],"big":18446744073709551615,"#
            + #""empty":[],"flag":false}"#
        #expect(line == expected)
    }

    /// A number alone could be a time or a position.
    @Test(arguments: [
        ("since", "16777216", "1970-01-01T04:39:37.216Z"),
        ("winner.newestAt", "1336069320000", "2012-05-03T18:22:00.000Z"),
        ("time", "-9223372036854775808", "-9223372036854775808 ms after 1970"),
        ("position", "16777216", "16777216"), ("since", "never", "never"),
    ]) func explanationsShowTimesAsTimes(_ name: String, _ value: String, _ shown: String) {
        #expect(KeyReport.value(of: StateField(name: name, value: value)) == shown)
    }

    @Test func tablesAreAlignedInATerminal() {
        var table = TextTable([.text("name"), .number("count"), .long("title")])
        table.add(["a", "10", "a title that is much too long for this terminal"])
        table.add(["longer", "7", nil])
        let expected = """
            NAME    COUNT  TITLE
            a          10  a title that is mu…
            longer      7  -

            """
        #expect(table.text(isTerminal: true, width: 34) == expected)
        #expect(
            table.text(isTerminal: false, width: 34).hasPrefix("a\t10\ta title that is much too"))
    }

    @Test func timesAreRelativeInATerminal() {
        var table = TextTable([.time("at"), .state("state")])
        let times = [
            "2012-05-03T17:59:00.000Z", "2012-05-03T18:00:30.000Z", "2012-05-03T15:00:00.000Z",
            "2012-04-29T18:00:00.000Z", "2012-01-01T00:00:00.000Z", "2012-05-03T18:00:00.000Z",
        ]
        for time in times + ["-"] { table.add([time, "refused"]) }
        let now: Int64 = 1_336_068_000_000
        let shown = table.text(isTerminal: true, width: 80, now: now).split(separator: "\n")
        #expect(
            shown.dropFirst().map { $0.split(separator: "  ").first.map(String.init) } == [
                "1 min ago", "in 30 s", "3 h ago", "4 d ago", "2012-01-01", "now", "-",
            ])
        let piped = table.text(isTerminal: false, width: 80, now: now)
        #expect(piped.hasPrefix(times[0] + "\trefused\n"))
        let coloured = table.text(isTerminal: true, width: 80, isColoured: true, now: now)
        #expect(coloured.contains("\u{1B}[31mrefused\u{1B}[0m\n"))
        #expect(coloured.hasPrefix("\u{1B}[1mAT\u{1B}[0m"))
        #expect(!table.text(isTerminal: true, width: 80, now: now).contains("\u{1B}"))
    }

    /// Text columns are shortened first; the column that identifies the row is shortened last.
    @Test func tablesFitNarrowTerminals() {
        var table = TextTable([
            .text("video"), .number("bytes"), .time("since"), .state("state"), .text("blob"),
            .long("title"),
        ])
        table.add([
            "youtube:aqz-KE-bpKQ", "1234567890", "2012-05-03T17:59:00.000Z", "refused",
            String(repeating: "0f", count: 32), "a title that is longer than its column",
        ])
        for width in [160, 100, 80, 60] {
            let text = table.text(isTerminal: true, width: width, now: 1_336_068_000_000)
            let lines = text.split(separator: "\n")
            #expect(lines.allSatisfy { DisplayWidth.of(String($0)) <= width }, "\(text)")
            #expect(text.contains("1234567890  1 min ago"))
        }
        let lines = table.text(isTerminal: true, width: 80, now: 1_336_068_000_000)
        #expect(
            lines.split(separator: "\n").last
                == "youtube:aqz-KE-bpKQ  1234567890  1 min ago  refused  0f0f0f0f0f0f…  a title tha…"
        )
        #expect(
            table.text(isTerminal: false, width: 20)
                .hasSuffix("0f0f\ta title that is longer than its column\n"))
    }

    @Test func distantMomentsAreShownAsDateAndTimeInATerminal() {
        var table = TextTable([.moment("starts")])
        for time in ["2012-05-03T17:00:00.000Z", "2012-05-04T18:30:00.000Z", "time unknown"] {
            table.add([time])
        }
        let text = table.text(isTerminal: true, width: 80, now: 1_336_068_000_000)
        #expect(text == "STARTS\n1 h ago\n2012-05-04 18:30Z\ntime unknown\n")
        #expect(
            table.text(isTerminal: false, width: 80).hasPrefix("2012-05-03T17:00:00.000Z\n"))
    }

    @Test func searchMatchesAreBoldInATerminal() {
        var table = TextTable([.text("by"), .long("title")])
        table.add(["Zoë", "Zoë sees a car"], bold: [0: [0..<3], 1: [0..<3, 11..<14]])
        func text(width: Int, isColoured: Bool = true) -> Substring? {
            table.text(isTerminal: true, width: width, isColoured: isColoured)
                .split(separator: "\n").last
        }
        #expect(
            text(width: 80)
                == "\u{1B}[1mZoë\u{1B}[0m  \u{1B}[1mZoë\u{1B}[0m sees a \u{1B}[1mcar\u{1B}[0m")
        #expect(
            text(width: 17)
                == "\u{1B}[1mZoë\u{1B}[0m  \u{1B}[1mZoë\u{1B}[0m sees a \u{1B}[1m…\u{1B}[0m")
        #expect(text(width: 80, isColoured: false) == "Zoë  Zoë sees a car")
        #expect(table.text(isTerminal: false, width: 80) == "Zoë\tZoë sees a car\n")
        // An escaped character is longer.
        table.add(["Zoë", "a\u{200B}car!"], bold: [1: [2..<5]])
        #expect(text(width: 80) == "Zoë  a\\u{200B}\u{1B}[1mcar\u{1B}[0m!")
    }

    @Test func wideCharactersTakeTwoColumns() {
        #expect(DisplayWidth.of("日本") == 4)
        #expect(DisplayWidth.cut("日本語", to: 5) == "日本…")
        #expect(DisplayWidth.wrapped("one two three", to: 7) == ["one two", "three"])
    }

    @Test func figuresAreReadable() {
        #expect(Figures.grouped(1_234_567) == "1,234,567")
        #expect(Figures.grouped(-12) == "-12")
        #expect(Figures.bytes(999) == "999 bytes")
        #expect(Figures.bytes(1_500_000) == "1.5 MB")
        #expect(Figures.fixed(0.05, 3) == "0.050")
        #expect(Figures.fixed(-1.5, 1) == "-1.5")
        #expect(Figures.seconds(125) == "2:05")
        #expect(Figures.clock(3_725) == "1:02:05")
        #expect(Figures.count(1, "event") == "1 event")
    }

    @Test func progressBarsShowRateAndRemainingTime() {
        let line = ProgressMeter.line("fold", 500, 1_000, rate: 250, unit: "events")
        #expect(line == "fold  [############............] 50 %  250 events/s  ETA 0:02")
        let open = ProgressMeter.line("append", 500, nil, rate: 250, unit: "bytes")
        #expect(open == "append  500 bytes  250 bytes/s")
    }

    @Test func timeArgumentsAreParsed() throws {
        #expect(TimeArgument.read("1970-01-02") == 86_400_000)
        #expect(TimeArgument.read("2019-07-11T16:00:00-04:00") == 1_562_875_200_000)
        #expect(TimeArgument.read("1562875200") == nil)
        #expect(TimeArgument.read("2019-7-11") == nil)
        #expect(TimeArgument.text(1_562_875_200_000) == "2019-07-11T20:00:00.000Z")
    }
}
