/// The result of checking whether a video plays.
public enum PlayabilityFinding: Hashable, Sendable {
    /// The video can be played.
    case playable
    /// The video cannot be played, with a reason such as `unsupported-provider`, `live` or `gone`.
    case unplayable(reason: String)
    /// The check itself failed, with the reason; whether the video can be played remains unknown.
    case failed(reason: String)
}

/// The values of `PlayabilityChecked.outcome`.
enum PlayabilityOutcome: String, CaseIterable {
    case playable, unplayable, failed
}
