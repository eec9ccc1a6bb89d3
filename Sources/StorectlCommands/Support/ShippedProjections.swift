internal import Tapedeck
internal import TapedeckConnectors

/// Every projection that this program keeps: the domain's, then those that remotes need.
enum ShippedProjections {
    /// All of them, in the order in which reports list them.
    static func all(_ projections: VideoProjections = .standard) -> [any Projection] {
        projections.all + Connectors.projections
    }

    /// A projection with the usual parameters, and the same with others.
    struct Pair {
        let usual: any Projection
        let other: any Projection
    }

    /// The projections of which other parameters make others, of those that are named; or of all but those on
    /// demand, which tell no more than what they are made of.
    ///
    /// Throws `CommandError`: `.notFound` for a name that there is none of, `.usage` where nothing is another.
    static func pairs(_ others: VideoProjections, named names: [String]) throws -> [Pair] {
        for name in names where !ShippedProjections.names.contains(name) {
            throw CommandError(
                .notFound, "there is no projection \(name)",
                hint: "there are " + ShippedProjections.names.sorted().joined(separator: ", "))
        }
        let pairs = zip(all(), all(others)).map { Pair(usual: $0, other: $1) }
            .filter { $0.usual.parameters != $0.other.parameters }
            .filter { names.isEmpty ? !$0.usual.isOnDemand : names.contains($0.usual.name) }
        guard !pairs.isEmpty else {
            throw CommandError(
                .usage, "nothing depends on these parameters, or they are the usual ones",
                hint: "storectl replay --diff --winner newest")
        }
        return pairs
    }

    /// The names that `replay` takes.
    static let names = all().map(\.name)
}
