/// The remote system that tells when shows are on.
public enum TVmaze {
    /// Its name in accounts and in outcomes.
    public static let system = "tvmaze"
}
