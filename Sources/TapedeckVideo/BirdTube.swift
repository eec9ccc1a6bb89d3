/// The system for submitted videos and their chats.
public enum BirdTube {
    /// The system's name in accounts and outcomes.
    public static let system = "birdtube"
}
