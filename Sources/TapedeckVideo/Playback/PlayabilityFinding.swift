/// What a check of a video has found.
public enum PlayabilityFinding: Hashable, Sendable {
    /// It can be played.
    case playable
    /// It cannot be played, and why: `unsupported-provider`, `live`, `gone` and the like.
    case unplayable(reason: String)
    /// The check itself did not succeed, and why; this tells nothing of the video.
    case failed(reason: String)
}

/// How `PlayabilityChecked.outcome` is written.
enum PlayabilityOutcome: String, CaseIterable {
    case playable, unplayable, failed
}
