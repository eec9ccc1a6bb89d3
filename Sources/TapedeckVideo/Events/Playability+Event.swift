public import TapedeckModel

extension ProposedEvent {
    /// Creates a proposal that records a video as unplayable because its id is malformed; nil if
    /// the id is well-formed.
    ///
    /// The log records this finding only once per video.
    package static func malformedVideo(_ video: VideoKey) throws -> ProposedEvent? {
        if video.isWellFormed { return nil }
        let finding = PlayabilityChecked.with {
            $0.video = video.text
            $0.outcome = PlayabilityOutcome.unplayable.rawValue
            $0.reason = ProviderRule.malformed
        }
        var proposal = try ProposedEvent(finding)
        proposal.fact = ObservedFact(
            entity: "\(video.tag)/form", content: try finding.payload(), version: 0,
            observedAt: nil)
        return proposal
    }
}

extension PlayabilityChecked: VideoEvent {
    /// The event type `PlayabilityChecked`.
    public static let eventType: EventType = "PlayabilityChecked"

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks the video, the outcome and its details.
    public func normalized() throws(ModelError) -> PlayabilityChecked {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        guard let outcome = PlayabilityOutcome(rawValue: outcome) else {
            throw FieldChecks.invalid(
                "outcome",
                "is not one of "
                    + PlayabilityOutcome.allCases.map(\.rawValue).joined(separator: ", "))
        }
        if outcome == .playable {
            guard !hasReason else {
                throw FieldChecks.invalid("reason", "is not allowed for a playable video")
            }
        } else {
            try FieldChecks.reason(reason, "reason")
        }
        guard outcome == .failed || !hasAttempt && !hasRetryAfterSeconds else {
            throw FieldChecks.invalid(
                hasAttempt ? "attempt" : "retryAfterSeconds", "is allowed only for failed checks")
        }
        if hasRetryAfterSeconds {
            try FieldChecks.seconds(retryAfterSeconds, "retryAfterSeconds")
        }
        return copy
    }
}

extension FieldChecks {
    /// Checks a machine-readable reason, which consists of lowercase letters, digits and hyphens.
    static func reason(_ value: String, _ field: String) throws(ModelError) {
        let isReason =
            (1...FieldLimits.reasonBytesMax).contains(value.utf8.count)
            && value.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D
            }
        guard isReason else {
            throw invalid(
                field,
                "is not a reason: 1 to \(FieldLimits.reasonBytesMax) lowercase letters, digits"
                    + " and hyphens, such as timeout")
        }
    }
}
