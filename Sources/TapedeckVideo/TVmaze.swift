/// The system that provides the schedules of shows.
public enum TVmaze {
    /// The system's name in accounts and outcomes.
    public static let system = "tvmaze"
}
