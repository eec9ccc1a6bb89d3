/// The system for sharing videos.
public enum Shelby {
    /// The system's name in accounts and outcomes.
    public static let system = "shelby"
}
