internal import Tapedeck
internal import TapedeckConnectors

/// Every projection that this program keeps: the domain's, then those that remotes need.
enum ShippedProjections {
    /// All of them, in the order in which reports list them.
    static func all(_ projections: VideoProjections = .standard) -> [any Projection] {
        projections.all + Connectors.projections
    }

    /// The names that `replay` takes.
    static let names = all().map(\.name)
}
