/// The state of the network as reported by the app; Tapedeck itself does not detect the state.
///
/// Events can be appended in every state; they are synced and delivered unless the network is
/// `offline`. Media (videos and pictures) wait while the network is `metered`, and report `metered`
/// as the reason.
public enum NetworkState: String, Sendable, CaseIterable {
    /// An unmetered network.
    case online
    /// A metered network: media wait.
    case metered
    /// No network: nothing is attempted.
    case offline
}
