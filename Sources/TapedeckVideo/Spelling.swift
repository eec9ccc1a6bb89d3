/// Finds names that are similar to a misspelled name.
package enum Spelling {
    /// Returns the most similar name; nil if no name is similar enough.
    package static func nearest(to name: String, among names: [String]) -> String? {
        near(name, among: names, distanceMax: max(1, name.utf8.count / 3)).first
            ?? names.first { name.utf8.count >= 3 && $0.lowercased().hasPrefix(name.lowercased()) }
    }

    /// Returns the names within an edit distance, nearest first.
    static func near(_ name: String, among names: [String], distanceMax: Int) -> [String] {
        names.map { (distance: distance(name, $0), name: $0) }
            .filter { $0.distance <= distanceMax }
            .sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }
            .map(\.name)
    }

    /// Returns the number of bytes to add, remove or change, ignoring case.
    ///
    /// Only the first 80 bytes are compared, because known names are shorter and hostile input may
    /// be long.
    private static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.lowercased().utf8.prefix(80))
        let right = Array(right.lowercased().utf8.prefix(80))
        var row = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let changed = diagonal + (a == b ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(changed, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[right.count]
    }
}
