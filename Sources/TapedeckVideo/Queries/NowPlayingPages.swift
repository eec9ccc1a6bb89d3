internal import TapedeckModel
internal import TapedeckProjections

/// A page of devices and the videos that they play.
public struct NowPlayingPage: Codable, Hashable, Sendable {
    /// The devices, most recent report first.
    public var devices: [NowPlayingEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A device and the video that it plays.
public struct NowPlayingEntry: Codable, Hashable, Sendable {
    /// The device's name.
    public var device: String
    /// The video, as `provider:id`; nil if no video is playing or paused on the device.
    @NullWhenNil public var video: String?
    /// The name of the viewing.
    @NullWhenNil public var viewing: String?
    /// The reported position, in seconds.
    public var positionSeconds: Double
    /// The estimated current position in seconds, which never exceeds a known duration.
    public var estimatedSeconds: Double
    /// Whether the device is playing rather than paused.
    public var playing: Bool
    /// The time of the device's report.
    public var at: UTCTime
}

extension VideoQueries {
    /// Returns the devices and the videos that they play, most recent report first.
    public func nowPlaying(
        at now: UTCTime, limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> NowPlayingPage {
        let (rows, next) = try page(
            of: projections.nowPlaying, table: NowPlaying.newestFirst, .devices, limit: limit,
            cursor: cursor)
        return NowPlayingPage(
            devices: try rows.map { try device(in: $0, behind: 8, at: now) }, next: next)
    }

    /// Returns the devices on which a video is playing or paused, sorted by name.
    ///
    /// A programme guide can use this method to highlight a video that is playing on a device.
    ///
    /// - Parameter video: The video's key, or any of its URLs.
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

    /// Returns the estimated position, in seconds, of a device at a given time.
    func position(of state: NowPlaying.State, at now: UTCTime) throws -> Double {
        guard let video = state.video else { return state.position(at: now, duration: nil) }
        let key = Tag(unchecked: "video/\(video)")
        let played = try reader.state(of: projections.playback, key: key)?.duration?.seconds
        let described = try reader.state(of: projections.videos, key: key)?.about.durationSeconds
        return state.position(at: now, duration: played ?? described)
    }

    /// Returns the device in a row.
    ///
    /// - Parameters:
    ///   - prefix: The number of bytes before the device in the row's key.
    ///   - now: The time for which to estimate the position; nil for the time of the report.
    func device(in row: Row, behind prefix: Int, at now: UTCTime?) throws -> NowPlayingEntry {
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try NowPlaying.State(reading: &reader)
        }
        let estimate = try now.map { try position(of: state, at: $0) } ?? state.positionSeconds
        var entry = NowPlayingEntry(
            device: String(tag("device", in: row, after: prefix).name),
            positionSeconds: state.positionSeconds, estimatedSeconds: estimate,
            playing: state.isPlaying, at: UTCTime(milliseconds: state.at))
        (entry.video, entry.viewing) = (state.video, state.viewing)
        return entry
    }
}
