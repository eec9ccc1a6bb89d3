import Foundation

/// The amount of work that long tests do: part of it in `.ci/run`, all of it in `tools/soak`, which
/// sets `TAPEDECK_SOAK=1`.
package enum Soak {
    /// Whether long tests do all of their work.
    package static let isOn = ProcessInfo.processInfo.environment["TAPEDECK_SOAK"] == "1"

    /// Returns the number of rounds or inputs.
    package static func count(_ usual: Int, soak: Int) -> Int { isOn ? soak : usual }

    /// Returns all values in a soak test; otherwise `count` of them, evenly spread from the first
    /// to the last.
    package static func sample<Values: RandomAccessCollection>(
        _ values: Values, _ count: Int
    ) -> [Values.Element] where Values.Index == Int {
        if isOn || values.count <= count { return Array(values) }
        guard count > 1 else { return Array(values.prefix(count)) }
        return (0..<count).map { values[values.startIndex + $0 * (values.count - 1) / (count - 1)] }
    }
}
