/// The system of videos that users hand in, and of the chats beside them.
public enum BirdTube {
    /// Its name in accounts and in outcomes.
    public static let system = "birdtube"
}
