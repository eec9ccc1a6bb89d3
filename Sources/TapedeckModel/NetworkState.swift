/// The state of the network as reported by the app; Tapedeck does not detect it.
///
/// Events can be appended in every state; they are synced and delivered unless the network is
/// `offline`. Media (videos and pictures) wait while the network is `metered`, and the reason that
/// they report is `metered`.
public enum NetworkState: String, Sendable, CaseIterable {
    /// An unmetered network.
    case online
    /// A metered network: media wait.
    case metered
    /// No network: nothing is attempted.
    case offline
}
