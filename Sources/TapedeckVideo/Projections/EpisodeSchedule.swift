internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The episodes, by start time and by show.
///
/// Observations are merged as in `ShowCatalogue`. Times are independent of time zones. The day of
/// an episode depends on the time zone of its channel; queries look up this time zone. Table 0
/// contains the episodes with a known start time, by (start, id). Table 1 contains all episodes, by
/// (show, season, number, id).
public struct EpisodeSchedule: Projection {
    /// Creates the projection.
    public init() {}

    /// `schedule`.
    public var name: String { "schedule" }
    /// 1.
    public var version: Int { 1 }
    /// `episode`.
    public var tagKind: String { "episode" }
    /// Observations of episodes.
    public var eventTypes: [EventType] { [EpisodeScheduled.eventType] }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        An episode is merged from its observations in the order of their versions: each field \
        comes from the newest observation that contains it.
        """
    }
    /// Two tables of episodes: one by start time, and one by show.
    public var tables: [String] { ["by-start", "by-show"] }

    static let byStart = 0
    static let byShow = 1

    /// The known facts about an episode.
    public struct State: ProjectionState, Equatable {
        var episode = EpisodeScheduled()

        /// Creates the initial state.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws {
            episode = try EpisodeScheduled(serializedBytes: bytes.bytes())
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) { bytes.add(episode.plainBytes) }
    }

    /// Folds an observation.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        key.state.episode.merge(newer: try event.decode(EpisodeScheduled.self).normalized())
    }

    /// Adds a row by show and, if the start time is known, a row by start time.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        let episode = state.episode
        if episode.hasAirstamp {
            rows.add(
                table: EpisodeSchedule.byStart,
                key: RowKey().ascending(episode.airstamp.milliseconds).ascending(episode.episode),
                value: episode.plainBytes)
        }
        var value = StateWriter()
        EpisodeEntry(episode).encode(into: &value)
        rows.add(
            table: EpisodeSchedule.byShow,
            key: RowKey().ascending(episode.show)
                .ascending(episode.hasSeason ? Int64(episode.season) : .max)
                .ascending(episode.hasNumber ? Int64(episode.number) : .max)
                .ascending(episode.episode),
            value: value.bytes)
    }
}

extension EpisodeScheduled: MergeableObservation {
    static let observationFields: [ObservationField<EpisodeScheduled>] = [
        ObservationField(\.episode),
        ObservationField(\.show),
        ObservationField(\.hasShowUpdated, \.showUpdated),
        ObservationField("name", \.hasName, \.name) { $0.clearName() },
        ObservationField("season", \.hasSeason, \.season) { $0.clearSeason() },
        ObservationField("number", \.hasNumber, \.number) { $0.clearNumber() },
        ObservationField("type", \.hasType, \.type) { $0.clearType() },
        ObservationField("airdate", \.hasAirdate, \.airdate) { $0.clearAirdate() },
        ObservationField("airtime", \.hasAirtime, \.airtime) { $0.clearAirtime() },
        ObservationField("airstamp", \.hasAirstamp, \.airstamp) { $0.clearAirstamp() },
        ObservationField("runtimeMinutes", \.hasRuntimeMinutes, \.runtimeMinutes) {
            $0.clearRuntimeMinutes()
        },
        ObservationField("image", \.hasImage, \.image) { $0.clearImage() },
        ObservationField("summary", \.hasSummary, \.summary) { $0.clearSummary() },
    ]

    // Serialization fails only for missing required fields, which proto3 does not have.
    fileprivate var plainBytes: [UInt8] { (try? serializedBytes()) ?? [] }
}

/// The fields of an episode in a show's list of episodes.
struct EpisodeEntry {
    var season: Int64?
    var number: Int64?
    var name: String?
    /// The start time in Unix milliseconds.
    var startsAt: Int64?

    init(_ episode: EpisodeScheduled) {
        season = episode.hasSeason ? Int64(episode.season) : nil
        number = episode.hasNumber ? Int64(episode.number) : nil
        name = episode.hasName ? episode.name : nil
        startsAt = episode.hasAirstamp ? episode.airstamp.milliseconds : nil
    }

    init(decoding bytes: [UInt8]) throws(ModelError) {
        (season, number, name, startsAt) = try StateReader.read(bytes) {
            (reader) throws(ModelError) in
            (
                try reader.optionalInt64(), try reader.optionalInt64(),
                try reader.optionalString(), try reader.optionalInt64()
            )
        }
    }

    func encode(into bytes: inout StateWriter) {
        bytes.add(season)
        bytes.add(number)
        bytes.add(name)
        bytes.add(startsAt)
    }
}
