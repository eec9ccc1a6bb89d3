internal import Tapedeck
internal import TapedeckConnectors

/// The projections that this program keeps: first the projections for videos, then those for
/// remotes.
enum ShippedProjections {
    /// Returns all projections in the order in which reports list them.
    static func all(_ projections: VideoProjections = .standard) -> [any Projection] {
        projections.all + Connectors.projections
    }

    /// A projection with the default parameters, and the same projection with other parameters.
    struct Pair {
        let usual: any Projection
        let other: any Projection
    }

    /// Returns the named projections whose parameters differ from the defaults, each paired with
    /// its default version.
    ///
    /// Without names, all projections are considered except the ones built on demand, such as the
    /// search index.
    ///
    /// - Throws: `CommandError` with `.notFound` for an unknown name, or with `.usage` if the
    ///   parameters change nothing.
    static func pairs(_ others: VideoProjections, named names: [String]) throws -> [Pair] {
        for name in names where !ShippedProjections.names.contains(name) {
            throw CommandError(
                .notFound, "there is no projection \(name)",
                hint: "the projections are "
                    + ShippedProjections.names.sorted().joined(separator: ", "))
        }
        let pairs = zip(all(), all(others)).map { Pair(usual: $0, other: $1) }
            .filter { $0.usual.parameters != $0.other.parameters }
            .filter { names.isEmpty ? !$0.usual.isOnDemand : names.contains($0.usual.name) }
        guard !pairs.isEmpty else {
            throw CommandError(
                .usage, "--winner and --rule do not change any of these projections",
                hint: diffHint)
        }
        return pairs
    }

    /// The hint for `replay --diff` without a parameter that changes a projection.
    static let diffHint = "for example: storectl replay --diff --winner newest"

    /// The names that `replay` accepts.
    static let names = all().map(\.name)
}
