internal import TapedeckModel
internal import TapedeckProjections

/// Whether the address of a video's content is at hand.
public enum ExtractionState: String, Codable, Hashable, Sendable {
    /// Nobody has tried to extract it.
    case unknown
    /// It is at hand and good.
    case good
    /// It was found and is good no more.
    case expired
    /// The last try has failed, and none that was found before is good.
    case failed
}

/// A page of videos with their contents' addresses.
public struct ExtractionsPage: Codable, Hashable, Sendable {
    /// The videos.
    public var videos: [ExtractionEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// The address of a video's content, as of a time.
public struct ExtractionEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var video: String
    /// Whether the address is at hand.
    public var state: ExtractionState
    /// The address; nil unless it is good.
    @NullWhenNil public var url: String?
    /// When the last address was found.
    @NullWhenNil public var extractedAt: UTCTime?
    /// Before when the last address is good.
    @NullWhenNil public var goodUntil: UTCTime?
    /// Why the last try has failed; nil where it has not.
    @NullWhenNil public var reason: String?
    /// How many tries in a row have failed.
    public var failures: Int
    /// When the next try is due behind a failure; nil where there was none, or none is due by itself.
    @NullWhenNil public var nextTryAt: UTCTime?
    /// Whether the address is to be extracted now, if the video is wanted.
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
    /// How many seconds an address is good for that does not say itself until when.
    public static let extractionWindowSeconds = 300.0

    static func check(windowSeconds: Double) throws(ModelError) {
        guard (0...FieldLimits.secondsMax).contains(windowSeconds) else {
            throw ModelError(
                .usage,
                "a window of \(windowSeconds) is not between 0 and \(Int(FieldLimits.secondsMax))"
                    + " seconds")
        }
    }
}

extension VideoQueries {
    /// Whether the address of a video's content is at hand and good at `now`, else why not and when the next
    /// try is due.
    ///
    /// It is good before the moment that came with it; where none did, while less than `windowSeconds` have
    /// gone by since it was found.
    ///
    /// - Parameter video: its key, or any URL form of it.
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

    /// Whether the addresses of some videos' contents are at hand, in their order.
    public func extractions(
        of videos: [String], at now: UTCTime,
        windowSeconds: Double = QueryLimits.extractionWindowSeconds
    ) throws -> ExtractionsPage {
        ExtractionsPage(
            videos: try videos.map {
                try extraction(of: $0, at: now, windowSeconds: windowSeconds)
            })
    }

    /// The videos of which the last try has failed, the one that is due first in front.
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

    /// The video of a row of those of which the last try has failed.
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
