/// What a host says of the network; Tapedeck never looks for itself.
///
/// Facts go on whatever it is: they are appended, and delivered as soon as there is a way. Media, which
/// are videos and pictures, wait while the network is metered, and name that as their reason.
public enum NetworkState: String, Sendable, CaseIterable {
    /// There is one, and its bytes cost nothing.
    case online
    /// There is one, and its bytes cost something: media wait.
    case metered
    /// There is none: nothing is tried.
    case offline
}
