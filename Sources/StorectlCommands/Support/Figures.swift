/// Formats numbers for people.
enum Figures {
    /// Formats a whole number with commas, such as `1,234,567`.
    static func grouped(_ value: some BinaryInteger) -> String {
        var digits = String(value.magnitude)
        var groups: [String] = []
        while digits.utf8.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        let text = ([digits] + groups).joined(separator: ",")
        return value < 0 ? "-" + text : text
    }

    /// Formats a size in powers of 1,000, such as `12.3 MB`.
    static func bytes(_ value: some BinaryInteger) -> String {
        var amount = Double(value)
        for unit in ["bytes", "kB", "MB", "GB", "TB"] {
            if amount < 1_000 || unit == "TB" {
                return unit == "bytes" ? "\(value) bytes" : "\(fixed(amount, 1)) \(unit)"
            }
            amount /= 1_000
        }
        return "\(value) bytes"
    }

    /// Formats a duration, such as `0.123 s`, or `2:05` for a minute or more.
    static func seconds(_ value: Double) -> String {
        guard value >= 60 else { return "\(fixed(value, 3)) s" }
        return clock(value)
    }

    /// Formats a duration as `M:SS`, or as `H:MM:SS` for an hour or more.
    static func clock(_ value: Double) -> String {
        let whole = Int(min(max(value, 0), 8_640_000).rounded())
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let (hours, minutes, seconds) = (whole / 3_600, whole / 60 % 60, whole % 60)
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(seconds))" : "\(minutes):\(two(seconds))"
    }

    /// Formats a number with a fixed number of decimals.
    static func fixed(_ value: Double, _ decimals: Int) -> String {
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        guard value.isFinite, (value * scale).magnitude < 9e18 else { return "-" }
        let scaled = Int64((value * scale).rounded())
        guard decimals > 0 else { return String(scaled) }
        let digits = String(scaled.magnitude)
        let zeros = String(repeating: "0", count: max(0, decimals + 1 - digits.utf8.count))
        let padded = zeros + digits
        return (scaled < 0 ? "-" : "") + padded.dropLast(decimals) + "." + padded.suffix(decimals)
    }

    /// Formats a number with a noun, such as `1 event` or `2 events`.
    static func count(_ count: some BinaryInteger, _ noun: String) -> String {
        "\(grouped(count)) \(noun)\(count == 1 ? "" : "s")"
    }
}
