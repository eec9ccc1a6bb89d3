/// The system for questions that are answered by video.
public enum Whale {
    /// The system's name in accounts and outcomes.
    public static let system = "whale"
}
