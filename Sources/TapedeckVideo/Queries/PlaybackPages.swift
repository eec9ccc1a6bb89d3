internal import TapedeckModel
internal import TapedeckProjections

/// How far a video was watched.
public enum PlaybackState: String, Codable, Hashable, Sendable {
    /// Never, or not beyond its very beginning.
    case unwatched
    /// It was begun and left in its midst.
    case inProgress
    /// It was left at its end.
    case finished
}

/// A page of the videos in progress.
public struct PlaybackPage: Codable, Hashable, Sendable {
    /// The videos, the one played last first.
    public var videos: [PlaybackEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// Where a video was left.
public struct PlaybackEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var video: String
    /// How far it was watched.
    public var state: PlaybackState
    /// Where a player is to begin, in seconds: where any player was last, and 0 behind the end.
    public var resumeSeconds: Double
    /// How long it is, as far as players know.
    @NullWhenNil public var durationSeconds: Double?
    /// The viewing that came last.
    @NullWhenNil public var viewing: String?
    /// When it was played last.
    @NullWhenNil public var playedAt: UTCTime?
    /// When it was last watched to its end.
    @NullWhenNil public var finishedAt: UTCTime?
    /// How many viewings there were.
    public var viewings: Int
    /// How many of them came to the end.
    public var finishedViewings: Int
    /// How many seconds were told as watched, all `VideoWatched` together.
    public var watchedSeconds: Double

    init(_ video: some StringProtocol, _ known: Playback.State?) {
        self.video = String(video)
        let state = known ?? Playback.State()
        let last = state.last
        self.state =
            last?.isFinish ?? false ? .finished : state.isInProgress ? .inProgress : .unwatched
        resumeSeconds = state.isInProgress ? last?.positionSeconds ?? 0 : 0
        (viewings, finishedViewings) = (
            Int(clamping: state.viewings), Int(clamping: state.finishedViewings)
        )
        watchedSeconds = Double(state.watchedMilliseconds) / 1_000
        durationSeconds = state.duration?.seconds
        viewing = last.flatMap { $0.viewing.isEmpty ? nil : $0.viewing.utf8Text }
        playedAt = (last?.at).map(UTCTime.init)
        finishedAt = (state.finish?.at).map(UTCTime.init)
    }
}

extension VideoQueries {
    /// Where a video was left; `.unwatched` for one that nobody has played.
    ///
    /// - Parameter video: its key, or any URL form of it.
    public func playback(of video: String) throws -> PlaybackEntry {
        let key = try VideoKey(video)
        return PlaybackEntry(key.text, try reader.state(of: projections.playback, key: key.tag))
    }

    /// Where some videos were left, in their order.
    public func playback(of videos: [String]) throws -> PlaybackPage {
        PlaybackPage(videos: try videos.map { try playback(of: $0) })
    }

    /// The videos that were begun and not finished, the one played last first.
    public func inProgress(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> PlaybackPage {
        let (rows, next) = try page(
            of: projections.playback, .inProgress, limit: limit, cursor: cursor)
        return PlaybackPage(
            videos: try rows.map { try playbackEntry($0) }, next: next)
    }

    func playbackEntry(_ row: Row) throws -> PlaybackEntry {
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try Playback.State(reading: &reader)
        }
        return PlaybackEntry(tag("video", in: row, after: 8).name, state)
    }
}
