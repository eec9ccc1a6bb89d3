internal import TapedeckModel
internal import TapedeckProjections

/// The viewing progress of a video.
public enum PlaybackState: String, Codable, Hashable, Sendable {
    /// The video has never been played, or only its very beginning has been played.
    case unwatched
    /// The video was started but not finished.
    case inProgress
    /// The user or a remote reported the video as watched, and there is no position at which to
    /// resume.
    case watched
    /// The video was played to the end.
    case finished
}

/// A page of the videos in progress.
public struct PlaybackPage: Codable, Hashable, Sendable {
    /// The videos, most recently played first.
    public var videos: [PlaybackEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// The playback state of a video.
public struct PlaybackEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var video: String
    /// The viewing progress.
    public var state: PlaybackState
    /// The position at which to resume, in seconds: the last position on any device, or 0 if the
    /// video is not in progress.
    public var resumeSeconds: Double
    /// The length of the video in seconds, if a player has reported it.
    @NullWhenNil public var durationSeconds: Double?
    /// The name of the most recent viewing.
    @NullWhenNil public var viewing: String?
    /// The time at which the video was last played.
    @NullWhenNil public var playedAt: UTCTime?
    /// The time at which the video was last watched to the end.
    @NullWhenNil public var finishedAt: UTCTime?
    /// The number of viewings.
    public var viewings: Int
    /// The number of viewings that reached the end.
    public var finishedViewings: Int
    /// The number of seconds watched, as in `VideoQueries.statistics`.
    public var watchedSeconds: Double

    init(_ video: some StringProtocol, _ known: Playback.State?, watchedSeconds: Double) {
        self.video = String(video)
        let state = known ?? Playback.State()
        let last = state.last
        self.state = PlaybackState(state)
        resumeSeconds = state.isInProgress ? last?.positionSeconds ?? 0 : 0
        (viewings, finishedViewings) = (
            Int(clamping: state.viewings), Int(clamping: state.finishedViewings)
        )
        self.watchedSeconds = watchedSeconds
        durationSeconds = state.duration?.seconds
        viewing = last.flatMap { $0.viewing.isEmpty ? nil : $0.viewing.utf8Text }
        playedAt = [last?.at, state.watchedAt].compactMap { $0 }.max().map(UTCTime.init)
        finishedAt = (state.finish?.at).map(UTCTime.init)
    }
}

extension PlaybackState {
    fileprivate init(_ state: Playback.State) {
        if state.last?.isFinish ?? false {
            self = .finished
        } else if state.isInProgress {
            self = .inProgress
        } else {
            self = state.watchedAt == nil ? .unwatched : .watched
        }
    }
}

extension VideoQueries {
    /// Returns the playback state of a video, which is `.unwatched` if it has never been played.
    ///
    /// Reads the projections `playback`, `statistics` and `videos`.
    ///
    /// - Parameter video: The video's key, or any of its URLs.
    public func playback(of video: String) throws -> PlaybackEntry {
        let key = try VideoKey(video)
        var entry = PlaybackEntry(
            key.text, try reader.state(of: projections.playback, key: key.tag),
            watchedSeconds: try watchedSeconds(of: key.tag))
        if entry.state == .unwatched,
            try reader.state(of: projections.videos, key: key.tag)?.isWatched ?? false
        {
            entry.state = .watched
        }
        return entry
    }

    /// Returns the playback states of the given videos, in the same order.
    public func playback(of videos: [String]) throws -> PlaybackPage {
        PlaybackPage(videos: try videos.map { try playback(of: $0) })
    }

    /// Returns the videos in progress, most recently played first.
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
        let video = tag("video", in: row, after: 8)
        return PlaybackEntry(video.name, state, watchedSeconds: try watchedSeconds(of: video))
    }

    /// Returns the number of seconds for which a video was watched.
    ///
    /// Reads one item for each quarter-hour with activity.
    private func watchedSeconds(of video: Tag) throws -> Double {
        let limit = QueryLimits.pageCountMax
        var milliseconds: UInt64 = 0
        var after: [UInt8]?
        while true {
            let quarters = try reader.items(
                of: projections.statistics, key: video, prefix: RowKey(PlayStatistics.quarter),
                after: after, limit: limit)
            for quarter in quarters {
                milliseconds += try PlayStatistics.Figures(decoding: quarter.value)
                    .watchedMilliseconds
            }
            guard quarters.count == limit else { return Double(milliseconds) / 1_000 }
            after = quarters.last?.key
        }
    }
}
