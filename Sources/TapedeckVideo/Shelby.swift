/// The system of videos that people share with each other.
public enum Shelby {
    /// Its name in accounts and in outcomes.
    public static let system = "shelby"
}
