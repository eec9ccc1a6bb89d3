internal import TapedeckModel
internal import TapedeckProjections

/// A page of devices with what they play.
public struct NowPlayingPage: Codable, Hashable, Sendable {
    /// The devices, the one that said something last first.
    public var devices: [NowPlayingEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// What a device plays.
public struct NowPlayingEntry: Codable, Hashable, Sendable {
    /// The device.
    public var device: String
    /// The video, as `provider:id`; nil where it has none.
    @NullWhenNil public var video: String?
    /// The viewing.
    @NullWhenNil public var viewing: String?
    /// Where it was when it said so, in seconds.
    public var positionSeconds: Double
    /// Where it is by now, if it plays on; never beyond a duration that is known.
    public var estimatedSeconds: Double
    /// Whether it plays, and does not pause.
    public var playing: Bool
    /// When it said so.
    public var at: UTCTime
}

extension VideoQueries {
    /// The devices with what they play, the one that said something last first.
    public func nowPlaying(
        at now: UTCTime, limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> NowPlayingPage {
        let (rows, next) = try page(
            of: projections.nowPlaying, table: NowPlaying.newestFirst, .devices, limit: limit,
            cursor: cursor)
        return NowPlayingPage(
            devices: try rows.map { try device(in: $0, behind: 8, at: now) }, next: next)
    }

    /// The devices that have a video, by their names; a guide highlights it where there are any.
    ///
    /// - Parameter video: its key, or any URL form of it.
    public func nowPlaying(
        video: String, at now: UTCTime, limit: Int = QueryLimits.pageCountDefault,
        cursor: String? = nil
    ) throws -> NowPlayingPage {
        let prefix = RowKey().text(try VideoKey(video).text)
        let (rows, next) = try page(
            of: projections.nowPlaying, table: NowPlaying.byVideo, .devicesOfVideo, limit: limit,
            cursor: cursor, within: (prefix, prefix.end))
        return NowPlayingPage(
            devices: try rows.map { try device(in: $0, behind: prefix.bytes.count, at: now) },
            next: next)
    }

    /// The device of a row.
    ///
    /// - Parameters:
    ///   - prefix: how many bytes stand in front of the device in the row's key.
    ///   - now: as of when it is estimated where it is; nil for when it said so.
    func device(in row: Row, behind prefix: Int, at now: UTCTime?) throws -> NowPlayingEntry {
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try NowPlaying.State(reading: &reader)
        }
        var estimate = now.map(state.position) ?? state.positionSeconds
        if now != nil, state.isPlaying, let video = state.video,
            let duration = try reader.state(
                of: projections.playback, key: Tag(unchecked: "video/\(video)"))?.duration
        {
            estimate = min(estimate, max(duration.seconds, state.positionSeconds))
        }
        var entry = NowPlayingEntry(
            device: String(tag("device", in: row, after: prefix).name),
            positionSeconds: state.positionSeconds, estimatedSeconds: estimate,
            playing: state.isPlaying, at: UTCTime(milliseconds: state.at))
        (entry.video, entry.viewing) = (state.video, state.viewing)
        return entry
    }
}
