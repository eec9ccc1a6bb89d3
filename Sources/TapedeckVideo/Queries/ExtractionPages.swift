internal import TapedeckModel
internal import TapedeckProjections

/// Whether a video's content URL is available.
public enum ExtractionState: String, Codable, Hashable, Sendable {
    /// Extraction has never been attempted.
    case unknown
    /// The URL is available and valid.
    case good
    /// The URL was found, but is no longer valid.
    case expired
    /// The last attempt failed, and no earlier URL is still valid.
    case failed
}

/// A page of videos with their content URLs.
public struct ExtractionsPage: Codable, Hashable, Sendable {
    /// The videos.
    public var videos: [ExtractionEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A video's content URL and its state at a given time.
public struct ExtractionEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var video: String
    /// Whether the URL is available.
    public var state: ExtractionState
    /// The URL; nil unless it is valid.
    @NullWhenNil public var url: String?
    /// The time at which the last URL was found.
    @NullWhenNil public var extractedAt: UTCTime?
    /// The time at which the last URL expires.
    @NullWhenNil public var goodUntil: UTCTime?
    /// The reason why the last attempt failed; nil if it did not fail.
    @NullWhenNil public var reason: String?
    /// The number of consecutive failed attempts.
    public var failures: Int
    /// The time of the next attempt after a failure; nil if there was no failure or no retry is
    /// scheduled.
    @NullWhenNil public var nextTryAt: UTCTime?
    /// Whether the URL should be extracted now, if the video is wanted.
    public var due: Bool

    init(
        _ video: some StringProtocol, _ known: ExtractionCache.State?, at now: UTCTime,
        windowSeconds: Double
    ) {
        self.video = String(video)
        let until = known?.address?.goodUntil(windowSeconds: windowSeconds)
        state =
            if let until, now.milliseconds < until {
                .good
            } else if known?.failure != nil {
                .failed
            } else {
                until == nil ? .unknown : .expired
            }
        failures = Int(clamping: known?.failure?.attempt ?? 0)
        due = state != .good && known?.failure.map { $0.isDue(at: now) } ?? true
        if state == .good { url = known?.address?.url.utf8Text }
        extractedAt = (known?.address?.extractedAt).map(UTCTime.init)
        goodUntil = until.map(UTCTime.init)
        reason = known?.failure?.reason
        nextTryAt = (known?.failure?.nextTryAt).map(UTCTime.init)
    }
}

extension QueryLimits {
    /// The number of seconds for which a URL without an expiry time is valid.
    public static let extractionWindowSeconds = 300.0

    static func check(windowSeconds: Double) throws(ModelError) {
        guard (0...FieldLimits.secondsMax).contains(windowSeconds) else {
            throw ModelError(
                .usage,
                "a window of \(windowSeconds) s is not between 0 and \(Int(FieldLimits.secondsMax))"
                    + " s")
        }
    }
}

extension VideoQueries {
    /// Returns the content URL of a video if it is valid at `now`; otherwise, returns the reason
    /// why the URL is not valid and the time of the next attempt.
    ///
    /// A URL is valid until its expiry time. A URL without an expiry time is valid for
    /// `windowSeconds` after it was found.
    ///
    /// - Parameter video: The video's key, or any of its URLs.
    public func extraction(
        of video: String, at now: UTCTime,
        windowSeconds: Double = QueryLimits.extractionWindowSeconds
    ) throws -> ExtractionEntry {
        try QueryLimits.check(windowSeconds: windowSeconds)
        let key = try VideoKey(video)
        return ExtractionEntry(
            key.text, try reader.state(of: projections.extractions, key: key.tag), at: now,
            windowSeconds: windowSeconds)
    }

    /// Returns, for each of the given videos in the same order, whether its content URL is
    /// available.
    public func extractions(
        of videos: [String], at now: UTCTime,
        windowSeconds: Double = QueryLimits.extractionWindowSeconds
    ) throws -> ExtractionsPage {
        ExtractionsPage(
            videos: try videos.map {
                try extraction(of: $0, at: now, windowSeconds: windowSeconds)
            })
    }

    /// Returns the videos whose last extraction failed, earliest retry first.
    public func failedExtractions(
        at now: UTCTime, windowSeconds: Double = QueryLimits.extractionWindowSeconds,
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> ExtractionsPage {
        try QueryLimits.check(windowSeconds: windowSeconds)
        let (rows, next) = try page(
            of: projections.extractions, .failedExtractions, limit: limit, cursor: cursor)
        return ExtractionsPage(
            videos: try rows.map {
                try extractionEntry($0, at: now, windowSeconds: windowSeconds)
            }, next: next)
    }

    /// Returns the entry for a row of the table of failed extractions.
    func extractionEntry(
        _ row: Row, at now: UTCTime, windowSeconds: Double
    ) throws -> ExtractionEntry {
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try ExtractionCache.State(reading: &reader)
        }
        return ExtractionEntry(
            tag("video", in: row, after: 8).name, state, at: now, windowSeconds: windowSeconds)
    }
}
