internal import TapedeckModel
internal import TapedeckProjections

/// The known facts about a video, including text that is too long for lists.
public struct VideoDetails: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var video: String
    /// The title, as in lists.
    @NullWhenNil public var title: String?
    /// The description of the video.
    @NullWhenNil public var description: String?
    /// The user who shared the broadcast that represents the video; see `WinnerRule`.
    @NullWhenNil public var sharer: String?
    /// The URL of the sharer's picture.
    @NullWhenNil public var sharerImageUrl: String?
    /// The URL of the video's still picture.
    @NullWhenNil public var thumbnailUrl: String?
    /// The video's duration, in seconds.
    @NullWhenNil public var durationSeconds: Double?
    /// The remote's short URL of the video's page.
    @NullWhenNil public var shortLink: String?
    /// The URL of the video's page at its provider; nil for an unknown provider.
    @NullWhenNil public var pageUrl: String?
    /// The number of broadcasts of the video.
    public var broadcasts: Int
    /// The total number of comments; the text of a broadcast counts as one comment.
    public var commentCount: Int
    /// The time at which the video was last shared.
    @NullWhenNil public var newestAt: UTCTime?
    /// Whether the user likes the video.
    public var liked: Bool
    /// Whether the video is on the watch-later list.
    public var watchLater: Bool
    /// Whether the user has watched the video.
    public var watched: Bool
}

extension VideoQueries {
    /// Returns the known facts about a video; every field of an unknown video is empty.
    ///
    /// Throws `ModelError` with `.invalidVideo`. Costs four lookups.
    ///
    /// - Parameter video: The video's key, or any of its URLs.
    public func details(of video: String) throws -> VideoDetails {
        let key = try VideoKey(video)
        let state = try reader.state(of: projections.videos, key: key.tag) ?? VideoList.State()
        let described = try VideoList.description(of: key.tag, reader, projections.videos)
        return VideoDetails(
            video: key.text, title: state.shownTitle?.utf8Text,
            description: described.flatMap { $0.hasDescription_p ? $0.description_p : nil },
            sharer: state.sharer?.utf8Text, sharerImageUrl: state.sharerImage?.utf8Text,
            thumbnailUrl: state.about.thumbnail?.utf8Text,
            durationSeconds: state.about.durationSeconds,
            shortLink: try winner(of: key, state)?.shortLink?.utf8Text, pageUrl: key.pageURL,
            broadcasts: Int(clamping: state.broadcasts),
            commentCount: Int(clamping: state.comments),
            newestAt: state.newestAt.map(UTCTime.init), liked: state.isLiked,
            watchLater: try isOnWatchLater(key),
            watched: state.isWatched)
    }

    func isOnWatchLater(_ video: VideoKey) throws -> Bool {
        try reader.state(of: projections.watchLater, key: video.tag)?.since != nil
    }

    /// Returns the broadcast that represents a video; nil if there is none.
    func winner(of video: VideoKey, _ state: VideoList.State) throws -> BroadcastRecord? {
        guard let winner = state.winner else { return nil }
        return try reader.item(
            of: projections.videos, key: video.tag, name: BroadcastItems.name(winner)
        ).map { try BroadcastRecord(decoding: $0) }
    }
}
