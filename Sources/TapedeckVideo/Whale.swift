/// The system of questions that are answered by video.
public enum Whale {
    /// Its name in accounts and in outcomes.
    public static let system = "whale"
}
